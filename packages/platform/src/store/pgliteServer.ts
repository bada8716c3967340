import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

import type { PGlite } from '@electric-sql/pglite';

import { PgliteConnection } from './pgliteConnection.ts';
import { createTurns } from './sessionTurns.ts';

/** An embedded Postgres that other processes of this machine reach by the Postgres protocol. */
export interface PgliteServer {
  readonly port: number;
  /** Closes every connection; the database itself stays open. */
  close(): Promise<void>;
}

/**
 * How long a connection may hold the database between two messages of one transaction, in milliseconds. There is
 * one session for all: a process that is stopped inside a transaction would otherwise stop everybody.
 */
const IDLE_IN_TRANSACTION_MS = 15_000;

/**
 * Serves a PGlite to several connections at once, on loopback. PGlite is one session, so connections take turns: a
 * turn is everything up to Sync (or one simple query), and goes on while a transaction is open. That is why this
 * exists beside `@electric-sql/pglite-socket`, which hands single messages to the session: under concurrent
 * clients it mixed the unnamed statements of two connections up (rows missing from answers) and stood still for
 * ever after a client had died inside a transaction (both measured with 0.2.17).
 *
 * What sharing a session means for callers: `SET`, temporary tables, `LISTEN` and session advisory locks are shared
 * by all; transactions, their locks and named prepared statements are not. `COPY FROM STDIN` is refused.
 */
export async function servePglite(options: {
  db: PGlite;
  password: string;
  /** On loopback. Default: a free one. */
  port?: number;
  /** Told when the engine itself gave up, which is no SQL error: what it answers from then on is worth nothing. */
  onEngineFailure?: (error: unknown) => void;
  /** Default {@link IDLE_IN_TRANSACTION_MS}. */
  idleInTransactionMs?: number;
}): Promise<PgliteServer> {
  const turns = createTurns(options.db, {
    idleInTransactionMs: options.idleInTransactionMs ?? IDLE_IN_TRANSACTION_MS,
    onEngineFailure: options.onEngineFailure ?? (() => undefined),
  });
  const connections = new Set<PgliteConnection>();
  const server = createServer({ noDelay: true }, (socket: Socket) => {
    const connection = new PgliteConnection({ socket, password: options.password, turns });
    connections.add(connection);
    socket.once('close', () => {
      connections.delete(connection);
    });
  });
  await listen(server, options.port ?? 0);
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of connections) connection.end('57P01', 'The platform is shutting down.');
      await closed;
      await turns.idle();
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
