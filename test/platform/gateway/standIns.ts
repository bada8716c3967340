import { once } from 'node:events';
import { type RequestListener, type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Gateway } from '../../../src/platform/gateway/gateway.ts';

/** An HTTP server on loopback. */
export interface Served {
  readonly url: string;
  readonly server: Server;
  /** Closes the listening socket and every connection at once, as a killed process does. */
  kill(): Promise<void>;
}

/** Serves on a free port, or on the one given. */
export async function serve(listener: RequestListener, port = 0): Promise<Served> {
  const server = createServer(listener);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(bound)}`,
    server,
    kill: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * The platform's part: takes `/agents/{id}` off the path and hands the request to the gateway. `arrived` counts
 * the requests that the gateway was handed.
 */
export async function serveGateway(gateway: Gateway): Promise<Served & { arrived: () => number }> {
  let arrived = 0;
  const front = await serve((request, response) => {
    const [, id = '', path = ''] = /^\/agents\/([^/?]+)(.*)$/.exec(request.url ?? '') ?? [];
    void gateway.handle(id, request, response, path === '' ? '/' : path);
    arrived += 1;
  });
  return { ...front, arrived: () => arrived };
}
