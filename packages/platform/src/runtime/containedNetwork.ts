import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { connect, createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';

/** The folder and names of a container's sockets (`docker/sockets.ts`). */
export const SOCKETS = { folder: '/run/slipway', agent: 'agent.sock', egress: 'egress.sock' } as const;
/** `pg`'s name for the socket of a server on the default port. */
export const STORAGE_SOCKET = '.s.PGSQL.5432';

/** The outbound proxy, on the container's own loopback. */
const PROXY_PORT = 3128;
export const PROXY = `http://127.0.0.1:${PROXY_PORT}`;

/** Opens {@link PROXY} inside of a container: its clients are joined to the socket of the platform's proxy. */
export function openProxyPort(folder: string): Promise<Server> {
  return startRelay({ port: PROXY_PORT, host: '127.0.0.1' }, () =>
    connect({ path: join(folder, SOCKETS.egress) }),
  );
}

/** The variables that make a program in a container use the proxy, in both spellings. */
export function proxyVariables(): Record<string, string> {
  const proxy = { HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY, NO_PROXY: 'localhost,127.0.0.1,::1' };
  const lower = Object.entries(proxy).map(([name, value]) => [name.toLowerCase(), value] as const);
  // The last one is for Node itself, in versions that support it.
  return { ...proxy, ...Object.fromEntries(lower), NODE_USE_ENV_PROXY: '1' };
}

/** Listens, and joins each connection to a new one from `connect`. Access is controlled by the socket's folder. */
export async function startRelay(at: ListenOptions, connect: () => Socket): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (from) => pipeBoth(from, connect()));
  await listenAt(server, at);
  return server;
}

/** Joins two connections. */
export function pipeBoth(first: Duplex, second: Duplex): void {
  for (const [from, to] of [
    [first, second],
    [second, first],
  ] as const) {
    from.pipe(to);
    // The other side sees an error as the end of the connection.
    from.on('error', () => undefined);
    // What was read may wait for a slow reader.
    from.on('close', () => to.end(() => to.destroy()));
  }
}

/** Resolves when it listens. A socket in a folder is then open to every user. */
export async function listenAt(server: Server, at: ListenOptions): Promise<void> {
  server.listen(at);
  await once(server, 'listening');
  if (at.path !== undefined) await chmod(at.path, 0o666);
}
