import { sql } from 'kysely';

import type { RunKeeper, RunRecord } from './runRecords.ts';

/** How many runs one look takes up at most: a process that starts after a crash spreads them over several. */
const CLAIM_MAX = 200;

/**
 * Who executes which run. A run belongs to the process that its `owner` names for as long as that process is on the
 * list ({@link ProcessStore}); a run of none is claimed by whoever comes first, in one statement. A claimed run is
 * `pending` again, and the next time it begins its attempt, the token that its writes are fenced by, is another one.
 */
export class RunLeases {
  readonly #keeper: RunKeeper;

  constructor(keeper: RunKeeper) {
    this.#keeper = keeper;
  }

  /**
   * Makes runs that nobody executes this process's own, oldest first: those of no living process, and of this one all
   * but `held` where that is given (what it knows nothing of any more: an end that could not be stored).
   */
  async claim(held?: readonly string[]): Promise<RunRecord[]> {
    const mine =
      held === undefined
        ? sql`false`
        : sql`r.owner = ${this.#keeper.processId} AND NOT (r.run_id = ANY(${held}::uuid[]))`;
    const { rows } = await sql<RunRecord>`
      WITH free AS (
        SELECT r.run_id FROM slipway_agent.runs r
        WHERE r.deployment_id = ${this.#keeper.deploymentId} AND r.status IN ('pending', 'running')
          AND (NOT EXISTS (SELECT 1 FROM slipway_agent.processes p WHERE p.process_id = r.owner) OR (${mine}))
        ORDER BY r.sequence LIMIT ${CLAIM_MAX} FOR UPDATE SKIP LOCKED
      )
      UPDATE slipway_agent.runs r
      SET owner = ${this.#keeper.processId}, status = 'pending', updated_at = now(),
        lost_attempts = lost_attempts + CASE WHEN r.status = 'running' THEN 1 ELSE 0 END
      FROM free WHERE r.run_id = free.run_id
      RETURNING r.*`.execute(this.#keeper.db);
    return rows.sort((left, right) => Number(BigInt(left.sequence) - BigInt(right.sequence)));
  }

  /** Gives a run of this process to whoever takes it up next; its attempt does not count as lost. */
  async release(run: Pick<RunRecord, 'run_id' | 'attempt'>): Promise<void> {
    await this.#keeper.db
      .updateTable('slipway_agent.runs')
      .set({ owner: '', status: 'pending', updated_at: sql<Date>`now()` })
      .where('run_id', '=', run.run_id)
      .where('owner', '=', this.#keeper.processId)
      .where('attempt', '=', run.attempt)
      .where('status', 'in', ['pending', 'running'])
      .execute();
  }

  /** The runs of this process of which another one asked something: to cancel them, to store their events. */
  async requests(): Promise<Pick<RunRecord, 'run_id' | 'cancel_action' | 'followed'>[]> {
    const active = this.#keeper.db
      .selectFrom('slipway_agent.runs')
      .select(['run_id', 'cancel_action', 'followed'])
      .where('owner', '=', this.#keeper.processId)
      .where('status', 'in', ['pending', 'running']);
    // Each of the two has an index of its own.
    return active
      .where('cancel_action', 'is not', null)
      .union(active.where(sql<boolean>`followed`))
      .execute();
  }

  /** Which of the given runs are still to end, wherever they are executed. */
  async stillActive(runIds: readonly string[]): Promise<Set<string>> {
    const rows = await this.#keeper.db
      .selectFrom('slipway_agent.runs')
      .select('run_id')
      .where('run_id', '=', sql<string>`ANY(${runIds}::uuid[])`)
      .where('status', 'in', ['pending', 'running'])
      .execute();
    return new Set(rows.map((row) => row.run_id));
  }
}
