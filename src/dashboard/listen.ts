import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

import { getRequestListener } from '@hono/node-server';
import { answerClientErrors } from '@slipway/contract/clientErrors';

import { SlipwayError } from '../domain/errors.ts';

export interface Listening {
  /** `http://host:port` as clients reach it, without a trailing slash. */
  readonly url: string;
  /** Closes its connections, also active ones. */
  close(): Promise<void>;
}

/** How long an idle connection stays open, in milliseconds: longer than a proxy keeps it, which is at most 10 min. */
const IDLE_MS = 620_000;

/** Listens on an address. @param option - the command's option that sets the port, for the error. */
export async function listen(
  listener: RequestListener,
  { host, port, option }: { readonly host: string; readonly port: number; readonly option: string },
): Promise<Listening> {
  const server = createServer({ keepAliveTimeout: IDLE_MS }, listener);
  answerClientErrors(server);
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const place = `${host}:${port}`;
    const message =
      code === 'EADDRINUSE'
        ? `another process listens on ${place}`
        : `${place} cannot be listened on (${code ?? ''})`;
    const hint = `choose another port with ${option}`;
    throw new SlipwayError('SLIPWAY_PORT_UNAVAILABLE', message, { place, hint, cause: error });
  }
  const { port: listened } = server.address() as AddressInfo;
  return {
    url: `http://${reachable(host)}:${listened}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      // Live pages keep their connections open.
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Serves an app on the host and port of a command. */
export async function serve(
  { fetch }: { readonly fetch: Parameters<typeof getRequestListener>[0] },
  host: string,
  port: number,
): Promise<Listening> {
  // A health check by HTTP/1.0 has no Host.
  const answer = getRequestListener(fetch, { hostname: 'localhost' });
  const option = '--port; --port 0 takes a free one';
  return listen((request, response) => void answer(request, response), { host, port, option });
}

/** The host under which clients reach a bound address: loopback for an unspecified one. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
