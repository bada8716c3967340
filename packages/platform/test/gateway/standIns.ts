import { type RequestListener, type Server, createServer } from 'node:http';
import { afterEach, beforeEach } from 'vitest';
import { Gateway } from '../../src/gateway/gateway.ts';
import { closeServer, listen } from '../../../../test/support/listen.ts';

/** An HTTP server on loopback. */
export interface Served {
  readonly url: string;
  readonly server: Server;
  /** Closes the listening socket and every connection at once, as a killed process does. */
  kill(): Promise<void>;
}

/** Serves on a free port, or on the given one. */
async function serve(listener: RequestListener, port = 0): Promise<Served> {
  // The platform's value: on a busy machine, a client may return later than the default of 5 s.
  const server = createServer({ keepAliveTimeout: 65_000 }, listener);
  return {
    url: await listen(server, port),
    server,
    kill: async () => {
      if (server.listening) await closeServer(server);
    },
  };
}

/** The platform's part: removes `/agents/{id}` from the path. `arrived` counts the requests. */
export async function serveGateway(gateway: Gateway): Promise<Served & { arrived: () => number }> {
  let arrived = 0;
  const front = await serve((request, response) => {
    const [, id = '', path = ''] = /^\/agents\/([^/?]+)(.*)$/.exec(request.url ?? '') ?? [];
    void gateway.handle(id, request, response, path === '' ? '/' : path);
    arrived += 1;
  });
  return { ...front, arrived: () => arrived };
}

/** A new gateway for every test of a file. Its agents live as long as the test. */
export function useGateway() {
  let gateway: Gateway;
  let front: Awaited<ReturnType<typeof serveGateway>>;
  let served: Served[];
  beforeEach(async () => {
    gateway = new Gateway({ patienceMs: 1_000, agentKeyOf: (id) => `key of ${id}` });
    front = await serveGateway(gateway);
    served = [front];
  });
  afterEach(async () => {
    await gateway.close();
    for (const one of served) await one.kill();
  });

  const agent = async (listener: RequestListener, port = 0): Promise<Served> => {
    const one = await serve(listener, port);
    served.push(one);
    return one;
  };
  const serveWith = (one: Served, revisionId = 'r1', exited?: Promise<unknown>) =>
    gateway.switchTo('d1', { url: one.url, revisionId, ...(exited && { exited }) });
  return {
    gateway: () => gateway,
    front: () => front,
    agent,
    named: (name: string, port = 0) => agent((_request, response) => response.end(name), port),
    /** Makes it the agent of deployment `d1`. */
    serveWith,
    /** A new agent of deployment `d1`. */
    serveAgent: async (listener: RequestListener): Promise<Served> => {
      const one = await agent(listener);
      await serveWith(one);
      return one;
    },
    /** An address of deployment `d1`. */
    at: (path: string) => `${front.url}/agents/d1${path}`,
  };
}
