import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

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
