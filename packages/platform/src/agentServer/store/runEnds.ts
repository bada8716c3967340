import { type RawBuilder, sql } from 'kysely';

import { DeploymentStore, type RunFailure, type RunRecord, webhookOf } from './agentDatabase.ts';

/** The state in which an ended run leaves its thread. */
export interface ThreadOutcome {
  readonly status: 'idle' | 'interrupted' | 'error';
  /** Whether the run changed nothing, or no longer: the thread keeps its error, which overrides the status. */
  readonly keepsError: boolean;
  /** `undefined` leaves it as it is. */
  readonly state:
    | {
        /** JSON text of the values; `undefined` leaves them as they are. */
        readonly values: string | undefined;
        /** JSON text: the pending interrupts, by task. */
        readonly interrupts: string;
      }
    | undefined;
  /** The thread's version from which the status was read. If the thread has changed since, the run does not end. */
  readonly version?: string | undefined;
}

/** What a thread has from the newest run that has begun on it, as JSON texts. */
export interface ThreadMarks {
  /** Graph and assistant, as a part of its metadata. */
  readonly origin: string;
  /** Its configuration: the run's, without its ids. */
  readonly config: string;
}

/** The endings that satisfy an interrupt: the run was stopped, and its work stays. */
const STOPPED_STATUSES = ['interrupted', 'timeout'];

/**
 * Ends runs and frees their threads. Returns when; `undefined` if the run's owner no longer had it in this attempt, or the
 * outcome for the thread is outdated.
 */
export class RunEnds extends DeploymentStore {
  /**
   * Ends an active run and sets its thread as `thread` says (a stateless run has none), or to `busy` while other runs
   * wait. Refused if a stored cancel requests another ending. `output`: JSON text.
   */
  async finish(
    run: RunRecord,
    ending: { status: string; error?: RunFailure; output?: string; thread: ThreadOutcome | undefined },
  ): Promise<Date | undefined> {
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
        output = ${output ?? null}::json, expires_at = ${expires},
        webhook_due = now() + ${webhookOf(run) === undefined ? null : FIRST_TRIES}::interval
      WHERE ${condition} AND ${cancelCondition}`,
    );
  }

  async finishRolledBack(run: RunRecord, thread: ThreadOutcome | undefined): Promise<Date | undefined> {
    return this.#end(
      run,
      thread,
      undefined,
      (condition) => sql`DELETE FROM slipway_agent.runs WHERE ${condition}`,
    );
  }

  async #end(
    run: RunRecord,
    thread: ThreadOutcome | undefined,
    error: RunFailure | undefined,
    change: (condition: RawBuilder<unknown>) => RawBuilder<unknown>,
  ): Promise<Date | undefined> {
    const ownRunCondition = sql`run_id = ${run.run_id} AND owner = ${run.owner} AND attempt = ${run.attempt}
      AND status IN ('pending', 'running')`;
    if (thread === undefined) {
      const { rows } = await sql<{ at: Date }>`${change(ownRunCondition)} RETURNING now() AS at`.execute(
        this.db,
      );
      return rows[0]?.at;
    }
    const threadCondition = this.threadCondition(run.thread_id);
    const otherActiveRuns = sql`SELECT 1 FROM slipway_agent.runs WHERE ${threadCondition} AND run_id <> ${run.run_id}
      AND status IN ('pending', 'running')`;
    const { status, keepsError, state, version = null } = thread;
    const ownError = sql`${status === 'error' && error !== undefined ? JSON.stringify(error) : null}::json`;
    // The thread's row is locked first, as in accepting a run. A statement sees the runs as of its start, so if the
    // thread has changed since, it does nothing and is repeated.
    for (;;) {
      const { rows } = await sql<{ fresh: boolean; at: Date | null }>`
        WITH thread AS MATERIALIZED (
          SELECT t.updated_at = (SELECT s.updated_at FROM slipway_agent.threads s WHERE ${threadCondition}) AS fresh,
            t.updated_at::text = coalesce(${version}::text, t.updated_at::text) AS unchanged
          FROM slipway_agent.threads t WHERE ${threadCondition} FOR UPDATE
        ), ended AS (
          ${change(sql`${ownRunCondition} AND coalesce((SELECT fresh AND unchanged FROM thread), true)`)} RETURNING now() AS at
        ), left_behind AS (
          UPDATE slipway_agent.threads
          SET status = CASE WHEN EXISTS (${otherActiveRuns}) THEN 'busy'
              WHEN ${keepsError} AND error IS NOT NULL THEN 'error' ELSE ${status} END,
            updated_at = now(),
            error = ${keepsError ? sql`error` : ownError},
            interrupts = ${state === undefined ? sql`interrupts` : sql`${state.interrupts}::json`},
            "values" = ${state?.values === undefined ? sql`"values"` : sql`${state.values}::json`}
          WHERE ${threadCondition} AND EXISTS (SELECT 1 FROM ended)
        )
        SELECT coalesce((SELECT fresh FROM thread), true) AS fresh, (SELECT at FROM ended) AS at
      `.execute(this.db);
      const [row] = rows;
      if (row?.fresh !== false) return row?.at ?? undefined;
    }
  }
}

/** How long the process that ends a run alone tries to deliver its webhook. */
const FIRST_TRIES = '1 minute';

/** The record of a stateless run can be read for an hour after its end, because no thread keeps it. */
const STATELESS_EXPIRY = sql`now() + interval '1 hour'`;

/** The SQL assignments that give a thread its marks. */
export function setMarks({ origin, config }: ThreadMarks): RawBuilder<unknown> {
  return sql`metadata = threads.metadata || ${origin}::jsonb, config = ${config}::json`;
}
