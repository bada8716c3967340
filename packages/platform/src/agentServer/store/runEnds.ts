import { type RawBuilder, sql } from 'kysely';

import type { RunFailure } from './agentDatabase.ts';
import type { RunKeeper, RunRecord } from './runRecords.ts';

/** How a run ended. */
export interface StoredEnding {
  readonly status: string;
  readonly error?: RunFailure;
  /** JSON text: the final values of a stateless run, which has no thread to read them from. */
  readonly output?: string;
  /** How the run leaves its thread; `undefined`: it has none. */
  readonly thread: ThreadOutcome | undefined;
}

/** How a thread is left by a run that ended. */
export interface ThreadOutcome {
  readonly status: 'idle' | 'interrupted' | 'error';
  /** JSON text of the values; `undefined` leaves them as they are. */
  readonly values: string | undefined;
  /** JSON text: the pending interrupts, by task. */
  readonly interrupts: string;
}

/** The endings that fulfil a wish to interrupt: the run was stopped, and its work stays. */
const STOPPED = ['interrupted', 'timeout'];

/**
 * Ends runs, each in one statement together with what it means for its thread. Each answers whether the run was still
 * this process's to end, in this attempt.
 */
export class RunEnds {
  readonly #keeper: RunKeeper;

  constructor(keeper: RunKeeper) {
    this.#keeper = keeper;
  }

  /**
   * Ends an active run and leaves its thread as `thread` says, or `busy` while others wait on it. Not where it is noted
   * that the run is to be cancelled, and this ending does not do so.
   */
  async finish(run: RunRecord, ending: StoredEnding): Promise<boolean> {
    const { status, error, output, thread } = ending;
    const wished = STOPPED.includes(status)
      ? sql`(cancel_action IS NULL OR cancel_action = 'interrupt')`
      : sql`cancel_action IS NULL`;
    const expires = thread === undefined ? FORGET_STATELESS_AT : sql`expires_at`;
    return this.#end(
      run,
      thread,
      error,
      (condition) => sql`
      UPDATE slipway_agent.runs
      SET status = ${status}, updated_at = now(), error = ${error === undefined ? null : JSON.stringify(error)}::json,
        output = ${output ?? null}::json, expires_at = ${expires}
      WHERE ${condition} AND ${wished}`,
    );
  }

  /** Removes an active run that was rolled back. */
  async finishRolledBack(run: RunRecord, thread: ThreadOutcome | undefined): Promise<boolean> {
    return this.#end(
      run,
      thread,
      undefined,
      (condition) => sql`DELETE FROM slipway_agent.runs WHERE ${condition}`,
    );
  }

  /** Ends a run by a change of its row. */
  async #end(
    run: RunRecord,
    thread: ThreadOutcome | undefined,
    error: RunFailure | undefined,
    change: (condition: RawBuilder<unknown>) => RawBuilder<unknown>,
  ): Promise<boolean> {
    const mine = sql`run_id = ${run.run_id} AND owner = ${this.#keeper.processId} AND attempt = ${run.attempt}
      AND status IN ('pending', 'running')`;
    if (thread === undefined) {
      const { rows } = await sql`${change(mine)} RETURNING run_id`.execute(this.#keeper.db);
      return rows.length > 0;
    }
    const place = sql`deployment_id = ${this.#keeper.deploymentId} AND thread_id = ${run.thread_id}`;
    const others = sql`SELECT 1 FROM slipway_agent.runs WHERE ${place} AND run_id <> ${run.run_id}
      AND status IN ('pending', 'running')`;
    // The thread's row is locked first, as by who accepts runs. A statement sees the runs as they were when it began:
    // where the thread has changed since then, it does nothing, and is sent again.
    for (;;) {
      const { rows } = await sql<{ fresh: boolean; ended: boolean }>`
        WITH thread AS MATERIALIZED (
          SELECT t.updated_at = (SELECT s.updated_at FROM slipway_agent.threads s WHERE ${place}) AS fresh
          FROM slipway_agent.threads t WHERE ${place} FOR UPDATE
        ), ended AS (
          ${change(sql`${mine} AND coalesce((SELECT fresh FROM thread), true)`)} RETURNING run_id
        ), left_behind AS (
          UPDATE slipway_agent.threads
          SET status = CASE WHEN EXISTS (${others}) THEN 'busy' ELSE ${thread.status} END, updated_at = now(),
            interrupts = ${thread.interrupts}::json,
            error = ${thread.status === 'error' && error !== undefined ? JSON.stringify(error) : null}::json,
            "values" = ${thread.values === undefined ? sql`"values"` : sql`${thread.values}::json`}
          WHERE ${place} AND EXISTS (SELECT 1 FROM ended)
        )
        SELECT coalesce((SELECT fresh FROM thread), true) AS fresh, EXISTS (SELECT 1 FROM ended) AS ended
      `.execute(this.#keeper.db);
      const [row] = rows;
      if (row?.fresh !== false) return row?.ended === true;
    }
  }
}

/** How long the record of a stateless run can be read after its end: an hour. It belongs to no thread that keeps it. */
const FORGET_STATELESS_AT = sql`now() + interval '1 hour'`;
