import { type RawBuilder, sql } from 'kysely';

import { DeploymentStore, type RunFailure, type RunRecord } from './agentDatabase.ts';

/** The state in which an ended run leaves its thread. */
export interface ThreadOutcome {
  readonly status: 'idle' | 'interrupted' | 'error';
  /** JSON text of the values; `undefined` leaves them as they are. */
  readonly values: string | undefined;
  /** JSON text: the pending interrupts, by task. */
  readonly interrupts: string;
}

/** The endings that satisfy an interrupt: the run was stopped, and its work stays. */
const STOPPED_STATUSES = ['interrupted', 'timeout'];

/** Ends runs and frees their threads. Returns whether the run's owner still had it in this attempt. */
export class RunEnds extends DeploymentStore {
  /**
   * Ends an active run and sets its thread as `thread` says (a stateless run has none), or to `busy` while other runs
   * wait. Refused if a stored cancel requests another ending. `output`: JSON text, the values of a stateless run.
   */
  async finish(
    run: RunRecord,
    ending: { status: string; error?: RunFailure; output?: string; thread: ThreadOutcome | undefined },
  ): Promise<boolean> {
    const { status, error, output, thread } = ending;
    const cancelCondition = STOPPED_STATUSES.includes(status)
      ? sql`(cancel_action IS NULL OR cancel_action = 'interrupt')`
      : sql`cancel_action IS NULL`;
    const expires = thread === undefined ? STATELESS_EXPIRY : sql`expires_at`;
    return this.#end(
      run,
      thread,
      error,
      (condition) => sql`
      UPDATE slipway_agent.runs
      SET status = ${status}, updated_at = now(), error = ${error === undefined ? null : JSON.stringify(error)}::json,
        output = ${output ?? null}::json, expires_at = ${expires}
      WHERE ${condition} AND ${cancelCondition}`,
    );
  }

  /** `newest`: the thread's newest other run. While it is, the thread has its graph and configuration again. */
  async finishRolledBack(
    run: RunRecord,
    thread: ThreadOutcome | undefined,
    newest?: { readonly runId: string; readonly origin: string; readonly config: string },
  ): Promise<boolean> {
    const isNewest = sql`${newest?.runId ?? null}::uuid = (
      SELECT run_id FROM slipway_agent.runs WHERE ${this.threadCondition(run.thread_id)} AND run_id <> ${run.run_id}
      ORDER BY sequence DESC LIMIT 1)`;
    return this.#end(
      run,
      thread,
      undefined,
      (condition) => sql`DELETE FROM slipway_agent.runs WHERE ${condition}`,
      sql`, metadata = CASE WHEN ${isNewest} THEN metadata || ${newest?.origin ?? null}::jsonb ELSE metadata END,
        config = CASE WHEN ${isNewest} THEN ${newest?.config ?? null}::json ELSE config END`,
    );
  }

  async #end(
    run: RunRecord,
    thread: ThreadOutcome | undefined,
    error: RunFailure | undefined,
    change: (condition: RawBuilder<unknown>) => RawBuilder<unknown>,
    threadChange = sql``,
  ): Promise<boolean> {
    const ownRunCondition = sql`run_id = ${run.run_id} AND owner = ${run.owner} AND attempt = ${run.attempt}
      AND status IN ('pending', 'running')`;
    if (thread === undefined) {
      const { rows } = await sql`${change(ownRunCondition)} RETURNING run_id`.execute(this.db);
      return rows.length > 0;
    }
    const threadCondition = this.threadCondition(run.thread_id);
    const otherActiveRuns = sql`SELECT 1 FROM slipway_agent.runs WHERE ${threadCondition} AND run_id <> ${run.run_id}
      AND status IN ('pending', 'running')`;
    // The thread's row is locked first, as in accepting a run. A statement sees the runs as of its start, so if the
    // thread has changed since, it does nothing and is repeated.
    for (;;) {
      const { rows } = await sql<{ fresh: boolean; ended: boolean }>`
        WITH thread AS MATERIALIZED (
          SELECT t.updated_at = (SELECT s.updated_at FROM slipway_agent.threads s WHERE ${threadCondition}) AS fresh
          FROM slipway_agent.threads t WHERE ${threadCondition} FOR UPDATE
        ), ended AS (
          ${change(sql`${ownRunCondition} AND coalesce((SELECT fresh FROM thread), true)`)} RETURNING run_id
        ), left_behind AS (
          UPDATE slipway_agent.threads
          SET status = CASE WHEN EXISTS (${otherActiveRuns}) THEN 'busy' ELSE ${thread.status} END, updated_at = now(),
            interrupts = ${thread.interrupts}::json,
            error = ${thread.status === 'error' && error !== undefined ? JSON.stringify(error) : null}::json,
            "values" = ${thread.values === undefined ? sql`"values"` : sql`${thread.values}::json`}
            ${threadChange}
          WHERE ${threadCondition} AND EXISTS (SELECT 1 FROM ended)
        )
        SELECT coalesce((SELECT fresh FROM thread), true) AS fresh, EXISTS (SELECT 1 FROM ended) AS ended
      `.execute(this.db);
      const [row] = rows;
      if (row?.fresh !== false) return row?.ended === true;
    }
  }
}

/** The record of a stateless run can be read for an hour after its end, because no thread keeps it. */
const STATELESS_EXPIRY = sql`now() + interval '1 hour'`;
