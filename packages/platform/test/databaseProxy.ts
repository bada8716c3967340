import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../../../test/support/listen.ts';

/** A proxy for a PostgreSQL. It can stop a connection at a statement, and break all connections. */
export interface DatabaseProxy {
  readonly url: string;
  /**
   * Stops the first connection with a statement that contains all of `texts` (in its SQL or its parameters). `before`:
   * it never arrives. `after its commit`: the transaction's COMMIT takes effect, but its answer never arrives.
   * Resolves when that has happened.
   */
  hold(moment: 'before' | 'after its commit', ...texts: string[]): Promise<void>;
  /** Breaks all connections, and refuses new ones until `repair`. */
  cut(): void;
  repair(): void;
  close(): Promise<void>;
}

interface Hold {
  readonly moment: 'before' | 'after its commit';
  readonly texts: readonly string[];
  readonly happened: () => void;
}

/** Starts a {@link DatabaseProxy} in front of the database at `target`. */
export async function startDatabaseProxy(target: string): Promise<DatabaseProxy> {
  const { hostname, port } = new URL(target);
  const holds = new Set<Hold>();
  const open = new Set<Socket>();
  let isCut = false;

  const server = createServer({ noDelay: true }, (client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const database = connect({ host: hostname, port: Number(port), noDelay: true });
    let isHeld = false;
    let awaitingCommit: Hold | undefined;
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (data) => {
      if (isHeld) return;
      const hold = [...holds].find(({ texts }) => texts.every((text) => data.includes(text)));
      if (hold !== undefined) holds.delete(hold);
      if (hold?.moment === 'before') {
        isHeld = true;
        hold.happened();
        return;
      }
      awaitingCommit = hold ?? awaitingCommit;
      database.write(data);
    });
    database.on('data', (data) => {
      if (isHeld) return;
      // The database names what it did. A client may have sent only the name of a prepared statement.
      if (awaitingCommit === undefined || !data.includes('COMMIT\0')) {
        client.write(data);
        return;
      }
      isHeld = true;
      awaitingCommit.happened();
    });
  });
  const url = new URL(target);
  url.host = new URL(await listen(server)).host;
  return {
    url: url.href,
    hold: (moment, ...texts) =>
      new Promise((happened) => holds.add({ moment, texts, happened: () => happened() })),
    cut: () => {
      isCut = true;
      for (const socket of open) socket.destroy();
    },
    repair: () => {
      isCut = false;
    },
    close: async () => {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}
