import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';

import { HttpProblem } from '../../http/problem.ts';
import type { AgentTables } from './agentDatabase.ts';
import { isBlank, keepPending } from './runFootprint.ts';
import { ACTIVE, activeOf, type RunKeeper, type RunRecord } from './runRecords.ts';

/** What a new run is made of. */
export interface NewRun {
  readonly runId: string;
  readonly threadId: string;
  readonly assistantId: string;
  readonly graphId: string;
  readonly metadata: Record<string, unknown>;
  readonly kwargs: Record<string, unknown>;
  /** What the thread is configured with from now on: what the run was asked for, without its ids. */
  readonly threadConfig: Record<string, unknown>;
  readonly multitaskStrategy: string;
  /** Whether it has no thread (contract 001, rule 5). */
  readonly stateless: boolean;
  /** How long it is to wait before it begins, in seconds. */
  readonly delaySeconds: number;
}

/** The multitask strategies that stop what is active on the thread. */
const STOPPING = ['interrupt', 'rollback'];

/**
 * Where runs are kept until they end: accepted, begun, to be cancelled, removed. Each change is one transaction, guarded
 * by the status that it starts from.
 */
export class RunStore {
  readonly #keeper: RunKeeper;

  constructor(keeper: RunKeeper) {
    this.#keeper = keeper;
  }

  /**
   * Accepts a run. The thread's row is locked meanwhile, so that runs of one thread are accepted one after another:
   * `before` are the runs that were active then, oldest first, which this one has to wait for. Where its strategy
   * stops them, that is noted together with it: also where this process dies the next moment.
   * @throws HttpProblem 404 for an unknown thread, 409 where the strategy is `reject` and a run is active.
   */
  async accept(run: NewRun): Promise<{ run: RunRecord; before: RunRecord[] }> {
    const record = run.stateless ? await this.#insert(this.#keeper.db, run) : await this.#acceptOnFree(run);
    if (record !== undefined) return { run: record, before: [] };
    return this.#keeper.db.transaction().execute(async (transaction) => {
      // The update is the lock. Where the run is refused after all, nothing of it stays.
      const thread = await sql`UPDATE slipway_agent.threads SET ${this.#used(run)}
        WHERE ${this.#threadOf(run)} RETURNING thread_id`.execute(transaction);
      if (thread.rows.length === 0) throw threadNotFound(run.threadId);
      const before = await activeOf(transaction, this.#keeper.deploymentId, run.threadId);
      const [active] = before;
      if (active !== undefined && run.multitaskStrategy === 'reject') {
        throw new HttpProblem(
          409,
          `Thread ${run.threadId} is busy with run ${active.run_id}: wait for it, cancel it, or give another multitask_strategy.`,
        );
      }
      if (active !== undefined && STOPPING.includes(run.multitaskStrategy)) {
        await noteCancel(
          transaction,
          before.map((each) => each.run_id),
          run.multitaskStrategy,
        );
      }
      return { run: await this.#insert(transaction, run), before };
    });
  }

  /**
   * From `pending` to `running`, as the next attempt; `undefined` when that cannot be now: it is not this process's
   * pending run any more, or an earlier run of its thread is still active. With its first attempt it keeps what is
   * pending on its thread ({@link RunFootprint}); `keptPending` says whether there was any, `blank` whether its thread
   * has no checkpoint yet.
   */
  async begin(run: RunRecord): Promise<Begun | undefined> {
    const first = sql`SELECT run_id FROM begun WHERE attempt = 1`;
    const { rows } = await sql<RunRecord & { kept: string; blank: boolean }>`
      WITH begun AS (
        UPDATE slipway_agent.runs r
        SET status = 'running', attempt = attempt + 1, updated_at = now()
        WHERE run_id = ${run.run_id} AND status = 'pending' AND owner = ${this.#keeper.processId}
          AND NOT EXISTS (SELECT 1 FROM slipway_agent.runs e
            WHERE e.deployment_id = r.deployment_id AND e.thread_id = r.thread_id
              AND e.status IN ('pending', 'running') AND e.sequence < r.sequence)
        RETURNING *
      ), kept AS (${keepPending(first, this.#keeper.deploymentId, run.thread_id)})
      SELECT begun.*, (SELECT count(*) FROM kept) AS kept, ${isBlank(this.#keeper.deploymentId, run.thread_id)} AS blank
      FROM begun`.execute(this.#keeper.db);
    const [row] = rows;
    if (row === undefined) return undefined;
    const { kept, blank, ...begun } = row;
    return { run: begun, keptPending: begun.attempt > 1 || Number(kept) > 0, blank };
  }

  /** Removes a run that has ended. */
  async remove(run: Pick<RunRecord, 'run_id'>): Promise<void> {
    await this.#keeper.db
      .deleteFrom('slipway_agent.runs')
      .where('run_id', '=', run.run_id)
      .where('status', 'not in', ACTIVE)
      .execute();
  }

  /**
   * Notes that runs are to be cancelled, for whichever process executes them. Answers those that were still active: what
   * is noted of them holds (`RunEnds.finish`), the others have ended.
   */
  async requestCancel(runIds: readonly string[], action: string): Promise<string[]> {
    return noteCancel(this.#keeper.db, runIds, action);
  }

  /** Removes the records of stateless runs that ended long enough ago; answers the threads that they were given. */
  async removeExpired(): Promise<string[]> {
    const rows = await this.#keeper.db
      .deleteFrom('slipway_agent.runs')
      .where('deployment_id', '=', this.#keeper.deploymentId)
      .where('expires_at', '<', sql<Date>`now()`)
      .returning('thread_id')
      .execute();
    return rows.map((row) => row.thread_id);
  }

  /**
   * Accepts a run on a thread that nothing runs on, in one statement; `undefined` where something does, or where there is
   * no such thread. A thread is `busy` exactly as long as it has active runs: both change together.
   */
  async #acceptOnFree(run: NewRun): Promise<RunRecord | undefined> {
    const { rows } = await sql<RunRecord>`
      WITH thread AS (
        UPDATE slipway_agent.threads SET ${this.#used(run)}
        WHERE ${this.#threadOf(run)} AND status <> 'busy' RETURNING thread_id
      )
      INSERT INTO slipway_agent.runs ${COLUMNS} SELECT ${this.#values(run)} FROM thread RETURNING *
    `.execute(this.#keeper.db);
    return rows[0];
  }

  async #insert(db: Kysely<AgentTables> | Transaction<AgentTables>, run: NewRun): Promise<RunRecord> {
    const { rows } = await sql<RunRecord>`
      INSERT INTO slipway_agent.runs ${COLUMNS} SELECT ${this.#values(run)} RETURNING *`.execute(db);
    const [record] = rows;
    if (record === undefined) throw new Error('An insert returned nothing.');
    return record;
  }

  /** What a run changes of its thread by being accepted. */
  #used(run: NewRun): RawBuilder<unknown> {
    const origin = JSON.stringify({ graph_id: run.graphId, assistant_id: run.assistantId });
    return sql`status = 'busy', updated_at = now(), metadata = metadata || ${origin}::jsonb,
      config = ${JSON.stringify(run.threadConfig)}::json`;
  }

  #threadOf(run: NewRun): RawBuilder<unknown> {
    return sql`deployment_id = ${this.#keeper.deploymentId} AND thread_id = ${run.threadId}`;
  }

  /** In the order of {@link COLUMNS}. */
  #values(run: NewRun): RawBuilder<unknown> {
    const delay = run.delaySeconds > 0 ? run.delaySeconds : null;
    return sql`${run.runId}::uuid, ${this.#keeper.deploymentId}, ${run.threadId}::uuid, ${run.assistantId}::uuid,
      ${JSON.stringify(run.metadata)}::jsonb, 'pending', ${JSON.stringify(run.kwargs)}::json, ${run.multitaskStrategy},
      ${this.#keeper.processId}, now() + ${delay}::double precision * interval '1 second'`;
  }
}

/** A run that has begun. */
export interface Begun {
  readonly run: RunRecord;
  readonly keptPending: boolean;
  readonly blank: boolean;
}

const COLUMNS = sql`(run_id, deployment_id, thread_id, assistant_id, metadata, status, kwargs, multitask_strategy, owner,
  start_after)`;

/**
 * Notes a wish to cancel: a rollback outdoes an interrupt, and is not taken back by one. Answers the runs that were
 * active.
 */
async function noteCancel(
  db: Kysely<AgentTables>,
  runIds: readonly string[],
  action: string,
): Promise<string[]> {
  const noted = await db
    .updateTable('slipway_agent.runs')
    .set({
      cancel_action: sql<string>`CASE WHEN cancel_action = 'rollback' THEN 'rollback' ELSE ${action} END`,
    })
    .where('run_id', 'in', [...runIds])
    .where('status', 'in', ACTIVE)
    .returning('run_id')
    .execute();
  return noted.map((run) => run.run_id);
}

/** 404 for a thread that the deployment does not have. */
export function threadNotFound(threadId: string): HttpProblem {
  return new HttpProblem(404, `Thread ${threadId} not found.`);
}
