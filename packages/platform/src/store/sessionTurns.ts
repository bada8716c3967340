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

export interface TurnsOptions {
  /** How long a connection inside a transaction may hold the session without a next message. */
  readonly idleInTransactionMs: number;
  /** Called when the engine itself fails, after its connection was ended. */
  readonly onEngineFailure: (error: unknown) => void;
}

/**
 * Schedules the connections' turns on the one session of a PGlite: first come, first served, but a connection inside a
 * transaction continues alone.
 */
export class Turns {
  readonly #db: PGlite;
  readonly #options: TurnsOptions;
  #waiting: Turn[] = [];
  #running: Promise<void> | undefined;
  /** The connection that holds the session: inside a transaction, or after Flush inside an extended batch. */
  #holder: TurnOwner | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  /** The session's current role; not known after a failed change. */
  #role: string | undefined;
  #isRoleKnown = true;

  constructor(db: PGlite, options: TurnsOptions) {
    this.#db = db;
    this.#options = options;
  }

  /** Queues a turn, which runs after the owner's transaction or all earlier turns. */
  enqueue(turn: Turn): void {
    this.#waiting.push(turn);
    this.#startRunning();
  }

  /** Drops the queued turns of a closed connection, and ends its open transaction. */
  removeOwner(owner: TurnOwner, cleanup: readonly Buffer[]): void {
    this.#waiting = this.#waiting.filter((turn) => turn.owner !== owner);
    // Runs after this connection's current turn, and before all others if it holds the session.
    const bytes = Buffer.concat([sync(), query('ROLLBACK'), ...cleanup]);
    this.enqueue({ owner, bytes, leavesBatchOpen: false });
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    clearTimeout(this.#idleTimer);
  }

  #startRunning(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#nextIndex >= 0) this.#startRunning();
    });
  }

  async #run(): Promise<void> {
    for (let turn = this.#takeNext(); turn !== undefined; turn = this.#takeNext()) {
      clearTimeout(this.#idleTimer);
      const { owner, bytes } = turn;
      try {
        await this.#setRole(owner.role);
      } catch (error) {
        owner.end('28000', `The role of this connection could not be set: ${(error as Error).message}`);
        continue;
      }
      try {
        await this.#db.runExclusive(() =>
          this.#db.execProtocolRawStream(bytes, { onRawData: (data) => owner.send(data) }),
        );
      } catch (error) {
        // Not an SQL error, which is an answer: the engine itself failed.
        owner.end('XX000', error instanceof Error ? error.message : 'The embedded database failed.');
        this.#options.onEngineFailure(error);
      }
      this.#holder = undefined;
      if (this.#db.isInTransaction() || turn.leavesBatchOpen) this.#holdSession(owner);
    }
  }

  #takeNext(): Turn | undefined {
    const index = this.#nextIndex;
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
  }

  /** The place of the turn that may run next; -1 if none may. */
  get #nextIndex(): number {
    return this.#waiting.findIndex(({ owner }) => this.#holder === undefined || owner === this.#holder);
  }

  /** Inside a transaction this does nothing, because the session already has its holder's role. */
  async #setRole(wanted: string | undefined): Promise<void> {
    if (this.#isRoleKnown && wanted === this.#role) return;
    this.#isRoleKnown = false;
    await this.#db.exec(wanted === undefined ? 'RESET ROLE' : `SET ROLE "${wanted}"`);
    this.#isRoleKnown = true;
    this.#role = wanted;
  }

  #holdSession(owner: TurnOwner): void {
    this.#holder = owner;
    this.#idleTimer = setTimeout(
      () => owner.end('25P03', 'The connection was idle in a transaction for too long.'),
      this.#options.idleInTransactionMs,
    );
    this.#idleTimer.unref();
  }
}
