import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';

/**
 * Listens, and joins each connection to one of `connect`'s: bytes pass both ways, and the end of either side is the end of
 * both. A socket in a folder may be connected to by every user who gets there: the folder decides who does.
 */
export async function relay(at: ListenOptions, connect: () => Socket): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (from) => join(from, connect()));
  await listenAt(server, at);
  return server;
}

/** Joins two connections. */
export function join(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.pipe(to);
    // What went wrong on the line shows on the other side as its end.
    from.on('error', () => undefined);
    from.on('close', () => to.destroy());
  }
}

/** Resolves when it listens; a socket in a folder is then open to every user. */
export async function listenAt(server: Server, at: ListenOptions): Promise<void> {
  server.listen(at);
  await once(server, 'listening');
  if (at.path !== undefined) await chmod(at.path, 0o666);
}
