import type { PGlite } from '@electric-sql/pglite';

import { query, sync } from './wireMessages.ts';

/** A connection that takes turns. */
export interface TurnOwner {
  /** Its role in its turns; undefined: the session's own, a superuser. */
  readonly role?: string | undefined;
  /** Sends a part of the answer; the data is valid only during the call. */
  send(data: Uint8Array): void;
  /** Ends the connection with a fatal error. */
  end(sqlState: string, text: string): void;
}

interface Turn {
  readonly owner: TurnOwner;
  readonly bytes: Buffer;
  /** True after Flush: the batch continues, so no other connection may come in between. */
  readonly leavesBatchOpen: boolean;
}

/** Schedules the connections on the one session. */
export type Turns = ReturnType<typeof createTurns>;

/**
 * Schedules turns on one PGlite: first come, first served, but a connection inside a transaction continues alone.
 * `idleInTransactionMs` limits how long it may hold the session without a next message. `onEngineFailure` is called
 * when the engine itself fails, after its connection was ended.
 */
export function createTurns(
  db: PGlite,
  options: { idleInTransactionMs: number; onEngineFailure: (error: unknown) => void },
) {
  let waiting: Turn[] = [];
  let running: Promise<void> | undefined;
  /** The connection that holds the session: inside a transaction, or after Flush inside an extended batch. */
  let holder: TurnOwner | undefined;
  let idleTimer: NodeJS.Timeout | undefined;
  /** The session's current role; not known after a failed change. */
  let role: string | undefined;
  let isRoleKnown = true;

  /** Inside a transaction this does nothing, because the session already has its holder's role. */
  const setRole = async (wanted: string | undefined): Promise<void> => {
    if (isRoleKnown && wanted === role) return;
    isRoleKnown = false;
    await db.exec(wanted === undefined ? 'RESET ROLE' : `SET ROLE "${wanted}"`);
    isRoleKnown = true;
    role = wanted;
  };

  const takeNext = (): Turn | undefined => {
    const index = holder === undefined ? 0 : waiting.findIndex((turn) => turn.owner === holder);
    return index < 0 ? undefined : waiting.splice(index, 1)[0];
  };

  const run = async (): Promise<void> => {
    for (let turn = takeNext(); turn !== undefined; turn = takeNext()) {
      clearTimeout(idleTimer);
      const { owner } = turn;
      try {
        await setRole(owner.role);
      } catch (error) {
        owner.end('28000', `The role of this connection could not be set: ${(error as Error).message}`);
        continue;
      }
      try {
        await db.runExclusive(() =>
          db.execProtocolRawStream(turn.bytes, { onRawData: (data) => turn.owner.send(data) }),
        );
      } catch (error) {
        // Not an SQL error, which is an answer: the engine itself failed.
        turn.owner.end('XX000', error instanceof Error ? error.message : 'The embedded database failed.');
        options.onEngineFailure(error);
      }
      holder = db.isInTransaction() || turn.leavesBatchOpen ? holdSession(turn) : undefined;
    }
  };

  const holdSession = (turn: Turn): TurnOwner => {
    idleTimer = setTimeout(
      () => turn.owner.end('25P03', 'The connection was idle in a transaction for too long.'),
      options.idleInTransactionMs,
    );
    idleTimer.unref();
    return turn.owner;
  };

  const startRunning = (): void => {
    running ??= run().finally(() => {
      running = undefined;
      if (waiting.some((turn) => holder === undefined || turn.owner === holder)) startRunning();
    });
  };

  const enqueue = (turn: Turn): void => {
    waiting.push(turn);
    startRunning();
  };

  return {
    /** Queues a turn, which runs after the owner's transaction or all earlier turns. */
    enqueue,
    /** Drops the queued turns of a closed connection, and ends its open transaction. */
    removeOwner: (owner: TurnOwner, cleanup: readonly Buffer[]): void => {
      waiting = waiting.filter((turn) => turn.owner !== owner);
      // Runs after this connection's current turn, and before all others if it holds the session.
      enqueue({
        owner,
        bytes: Buffer.concat([sync(), query('ROLLBACK'), ...cleanup]),
        leavesBatchOpen: false,
      });
    },
    /** Resolves when nothing runs or waits. */
    idle: async (): Promise<void> => {
      while (running !== undefined) await running;
      clearTimeout(idleTimer);
    },
  };
}
