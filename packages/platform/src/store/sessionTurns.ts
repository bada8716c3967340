import type { PGlite } from '@electric-sql/pglite';

import { query, sync } from './wireMessages.ts';

/** Who takes turns: one connection. */
export interface TurnOwner {
  /** The role that it has in its turns; undefined: the session's own, a superuser. */
  readonly role?: string | undefined;
  /** A piece of the answer; valid only during the call. */
  send(data: Uint8Array): void;
  /** Ends the connection with a fatal error. */
  end(sqlState: string, text: string): void;
}

/** What one connection wants done in one go. */
interface Turn {
  readonly owner: TurnOwner;
  readonly bytes: Buffer;
  /** True after Flush: the batch goes on, so no other session may come in between. */
  readonly leavesBatchOpen: boolean;
}

/** The order in which connections use the one session. */
export type Turns = ReturnType<typeof createTurns>;

/**
 * Turns on one PGlite: first come, first served, except that whoever is inside a transaction goes on alone.
 * `idleInTransactionMs` is how long it may hold the session without a next message before it is cut off;
 * `onEngineFailure` is told when the engine itself gave up, after the connection that met it.
 */
export function createTurns(
  db: PGlite,
  options: { idleInTransactionMs: number; onEngineFailure: (error: unknown) => void },
) {
  let waiting: Turn[] = [];
  let running: Promise<void> | undefined;
  /** Who holds the session: inside a transaction, or after Flush inside an extended batch. */
  let holder: TurnOwner | undefined;
  let patience: NodeJS.Timeout | undefined;
  /** The role that the session has now; `unknown` after a change that failed. */
  let role: string | undefined;
  let isRoleKnown = true;

  /** Inside a transaction there is nothing to do: the session has the role of its holder already. */
  const takeRole = async (wanted: string | undefined): Promise<void> => {
    if (isRoleKnown && wanted === role) return;
    isRoleKnown = false;
    await db.exec(wanted === undefined ? 'RESET ROLE' : `SET ROLE "${wanted}"`);
    isRoleKnown = true;
    role = wanted;
  };

  const next = (): Turn | undefined => {
    const index = holder === undefined ? 0 : waiting.findIndex((turn) => turn.owner === holder);
    return index < 0 ? undefined : waiting.splice(index, 1)[0];
  };

  const run = async (): Promise<void> => {
    for (let turn = next(); turn !== undefined; turn = next()) {
      clearTimeout(patience);
      const { owner } = turn;
      try {
        await takeRole(owner.role);
      } catch (error) {
        owner.end('28000', `The role of this connection cannot be had: ${(error as Error).message}`);
        continue;
      }
      try {
        await db.runExclusive(() =>
          db.execProtocolRawStream(turn.bytes, { onRawData: (data) => turn.owner.send(data) }),
        );
      } catch (error) {
        // Not an SQL error, which is an answer: the engine itself gave up.
        turn.owner.end('XX000', error instanceof Error ? error.message : 'The embedded database failed.');
        options.onEngineFailure(error);
      }
      holder = db.isInTransaction() || turn.leavesBatchOpen ? hold(turn) : undefined;
    }
  };

  const hold = (turn: Turn): TurnOwner => {
    patience = setTimeout(
      () => turn.owner.end('25P03', 'The connection was idle in a transaction for too long.'),
      options.idleInTransactionMs,
    );
    patience.unref();
    return turn.owner;
  };

  const start = (): void => {
    running ??= run().finally(() => {
      running = undefined;
      if (waiting.some((turn) => holder === undefined || turn.owner === holder)) start();
    });
  };

  const take = (turn: Turn): void => {
    waiting.push(turn);
    start();
  };

  return {
    /** Queues a turn's bytes; they are run when the owner's transaction or all earlier turns are over. */
    take,
    /** Forgets what a closed connection still wanted, and ends the transaction that it left open. */
    leave: (owner: TurnOwner, cleanup: readonly Buffer[]): void => {
      waiting = waiting.filter((turn) => turn.owner !== owner);
      // Runs after what this connection has running, and before anybody else's turn if it holds the session.
      take({ owner, bytes: Buffer.concat([sync(), query('ROLLBACK'), ...cleanup]), leavesBatchOpen: false });
    },
    /** Resolves when nothing runs or waits. */
    idle: async (): Promise<void> => {
      while (running !== undefined) await running;
      clearTimeout(patience);
    },
  };
}
