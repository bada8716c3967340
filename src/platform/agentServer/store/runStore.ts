import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';

import { HttpProblem } from '../../http/problem.ts';
import { type AgentTables, type RunFailure, type RunsTable } from './agentDatabase.ts';
import { keepPending } from './runFootprint.ts';

/** A stored run. */
export type RunRecord = Selectable<RunsTable>;

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

/** How a thread is left by a run that ended. */
export interface ThreadOutcome {
  readonly status: 'idle' | 'interrupted' | 'error';
  /** JSON text of the values; `undefined` leaves them as they are. */
  readonly values: string | undefined;
  /** JSON text: the pending interrupts, by task. */
  readonly interrupts: string;
}

const ACTIVE = ['pending', 'running'];

/** The multitask strategies that stop what is active on the thread. */
const STOPPING = ['interrupt', 'rollback'];

/** The endings that fulfil a wish to interrupt: the run was stopped, and its work stays. */
const STOPPED = ['interrupted', 'timeout'];

/** How long the record of a stateless run can be read after its end: an hour. It belongs to no thread that keeps it. */
const FORGET_STATELESS_AT = sql<Date>`now() + interval '1 hour'`;

/**
 * Where runs are kept. Everything that a run's life changes in the database goes through here, each change in one
 * transaction and guarded by the status that it starts from.
 */
export class RunStore {
  readonly #db: Kysely<AgentTables>;
  readonly #deploymentId: string;
  readonly #processId: string;

  constructor(options: { db: Kysely<AgentTables>; deploymentId: string; processId: string }) {
    this.#db = options.db;
    this.#deploymentId = options.deploymentId;
    this.#processId = options.processId;
  }

  /**
   * Accepts a run. The thread's row is locked meanwhile, so that runs of one thread are accepted one after another:
   * `before` are the runs that were active then, oldest first, which this one has to wait for. Where its strategy
   * stops them, that is noted together with it: also where this process dies the next moment.
   * @throws HttpProblem 404 for an unknown thread, 409 where the strategy is `reject` and a run is active.
   */
  async accept(run: NewRun): Promise<{ run: RunRecord; before: RunRecord[] }> {
    if (run.stateless) return { run: await this.#insert(this.#db, run), before: [] };
    return this.#db.transaction().execute(async (transaction) => {
      // The update is the lock. Where the run is refused after all, nothing of it stays.
      const origin = JSON.stringify({ graph_id: run.graphId, assistant_id: run.assistantId });
      const thread = await transaction
        .updateTable('slipway_agent.threads')
        .set({
          status: 'busy',
          updated_at: sql<Date>`now()`,
          metadata: sql`metadata || ${origin}::jsonb`,
          config: JSON.stringify(run.threadConfig),
        })
        .where('deployment_id', '=', this.#deploymentId)
        .where('thread_id', '=', run.threadId)
        .returning('thread_id')
        .executeTakeFirst();
      if (thread === undefined) throw threadNotFound(run.threadId);
      const before = await this.#activeOf(transaction, run.threadId);
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
      const record = await this.#insert(transaction, run);
      return { run: record, before };
    });
  }

  /** A run of a thread. */
  async find(threadId: string, runId: string): Promise<RunRecord | undefined> {
    return this.#mine().where('thread_id', '=', threadId).where('run_id', '=', runId).executeTakeFirst();
  }

  /** The same, for who must have it. @throws HttpProblem 404 */
  async get(threadId: string, runId: string): Promise<RunRecord> {
    const run = await this.find(threadId, runId);
    if (run === undefined) throw new HttpProblem(404, `Run ${runId} of thread ${threadId} not found.`);
    return run;
  }

  /** A run, whatever thread it is of. */
  async byId(runId: string): Promise<RunRecord | undefined> {
    return this.#mine().where('run_id', '=', runId).executeTakeFirst();
  }

  /** A thread's runs, newest first. */
  async list(
    threadId: string,
    options: { limit?: number | undefined; offset: number; status?: string | undefined },
  ): Promise<RunRecord[]> {
    let query = this.#mine().where('thread_id', '=', threadId);
    if (options.status !== undefined) query = query.where('status', '=', options.status);
    if (options.limit !== undefined) query = query.limit(options.limit);
    return query.orderBy('sequence', 'desc').offset(options.offset).execute();
  }

  /** The deployment's active runs, oldest first: of the given statuses, or of the given ids. */
  async active(filter: { statuses: readonly string[] } | { threadId: string; runIds: readonly string[] }) {
    const query = this.#mine().orderBy('sequence');
    if ('statuses' in filter) return query.where('status', 'in', [...filter.statuses]).execute();
    if (filter.runIds.length === 0) return [];
    return query
      .where('status', 'in', ACTIVE)
      .where('thread_id', '=', filter.threadId)
      .where('run_id', 'in', [...filter.runIds])
      .execute();
  }

  /** A thread's active runs, oldest first. */
  async activeOfThread(threadId: string): Promise<RunRecord[]> {
    return this.#activeOf(this.#db, threadId);
  }

  /**
   * From `pending` to `running`, as the next attempt; `undefined` when that cannot be now: it is not this process's
   * pending run any more, or an earlier run of its thread is still active. With its first attempt it keeps what is
   * pending on its thread ({@link RunFootprint}); `keptPending` says whether there was any.
   */
  async begin(run: RunRecord): Promise<{ run: RunRecord; keptPending: boolean } | undefined> {
    const first = sql`SELECT run_id FROM begun WHERE attempt = 1`;
    const { rows } = await sql<RunRecord & { kept: string }>`
      WITH begun AS (
        UPDATE slipway_agent.runs r
        SET status = 'running', attempt = attempt + 1, updated_at = now()
        WHERE run_id = ${run.run_id} AND status = 'pending' AND owner = ${this.#processId}
          AND NOT EXISTS (SELECT 1 FROM slipway_agent.runs e
            WHERE e.deployment_id = r.deployment_id AND e.thread_id = r.thread_id
              AND e.status IN ('pending', 'running') AND e.sequence < r.sequence)
        RETURNING *
      ), kept AS (${keepPending(first, this.#deploymentId, run.thread_id)})
      SELECT begun.*, (SELECT count(*) FROM kept) AS kept FROM begun`.execute(this.#db);
    const [row] = rows;
    if (row === undefined) return undefined;
    const { kept, ...begun } = row;
    return { run: begun, keptPending: begun.attempt > 1 || Number(kept) > 0 };
  }

  /**
   * Ends an active run and leaves its thread as `thread` says (`undefined`: it has none), or `busy` while others wait
   * on it. Answers whether the run was still this process's to end, in this attempt, and like this: not where it is
   * noted that it is to be cancelled, and this ending does not do so.
   */
  async finish(
    run: RunRecord,
    ending: { status: string; error?: RunFailure; output?: string; thread: ThreadOutcome | undefined },
  ): Promise<boolean> {
    return this.#withThread(run, ending.thread, ending.error, async (db) => {
      const ended = await db
        .updateTable('slipway_agent.runs')
        .set({
          status: ending.status,
          updated_at: sql<Date>`now()`,
          error: ending.error === undefined ? null : JSON.stringify(ending.error),
          output: ending.output ?? null,
          ...(ending.thread === undefined && { expires_at: FORGET_STATELESS_AT }),
        })
        .where('run_id', '=', run.run_id)
        .where('owner', '=', this.#processId)
        .where('attempt', '=', run.attempt)
        .where('status', 'in', ACTIVE)
        .where((is) =>
          STOPPED.includes(ending.status)
            ? is.or([is('cancel_action', 'is', null), is('cancel_action', '=', 'interrupt')])
            : is('cancel_action', 'is', null),
        )
        .returning('run_id')
        .executeTakeFirst();
      return ended !== undefined;
    });
  }

  /** Removes an active run that was rolled back, like {@link finish}. */
  async finishRolledBack(run: RunRecord, thread: ThreadOutcome | undefined): Promise<boolean> {
    return this.#withThread(run, thread, undefined, async (db) => {
      const removed = await db
        .deleteFrom('slipway_agent.runs')
        .where('run_id', '=', run.run_id)
        .where('owner', '=', this.#processId)
        .where('attempt', '=', run.attempt)
        .where('status', 'in', ACTIVE)
        .returning('run_id')
        .executeTakeFirst();
      return removed !== undefined;
    });
  }

  /** Removes a run that has ended. */
  async remove(run: Pick<RunRecord, 'run_id'>): Promise<void> {
    await this.#db
      .deleteFrom('slipway_agent.runs')
      .where('run_id', '=', run.run_id)
      .where('status', 'not in', ACTIVE)
      .execute();
  }

  /**
   * Notes that runs are to be cancelled, for whichever process executes them. Answers those that were still active: what
   * is noted of them holds ({@link finish}), the others have ended.
   */
  async requestCancel(runIds: readonly string[], action: string): Promise<string[]> {
    return noteCancel(this.#db, runIds, action);
  }

  /** Removes the records of stateless runs that ended long enough ago; answers the threads that they were given. */
  async removeExpired(): Promise<string[]> {
    const rows = await this.#db
      .deleteFrom('slipway_agent.runs')
      .where('deployment_id', '=', this.#deploymentId)
      .where('expires_at', '<', sql<Date>`now()`)
      .returning('thread_id')
      .execute();
    return rows.map((row) => row.thread_id);
  }

  #mine() {
    return this.#db
      .selectFrom('slipway_agent.runs')
      .selectAll()
      .where('deployment_id', '=', this.#deploymentId);
  }

  async #activeOf(
    db: Kysely<AgentTables> | Transaction<AgentTables>,
    threadId: string,
  ): Promise<RunRecord[]> {
    return db
      .selectFrom('slipway_agent.runs')
      .selectAll()
      .where('deployment_id', '=', this.#deploymentId)
      .where('thread_id', '=', threadId)
      .where('status', 'in', ACTIVE)
      .orderBy('sequence')
      .execute();
  }

  async #insert(db: Kysely<AgentTables> | Transaction<AgentTables>, run: NewRun): Promise<RunRecord> {
    return db
      .insertInto('slipway_agent.runs')
      .values({
        run_id: run.runId,
        deployment_id: this.#deploymentId,
        thread_id: run.threadId,
        assistant_id: run.assistantId,
        metadata: JSON.stringify(run.metadata),
        status: 'pending',
        kwargs: JSON.stringify(run.kwargs),
        multitask_strategy: run.multitaskStrategy,
        owner: this.#processId,
        ...(run.delaySeconds > 0 && {
          start_after: sql<Date>`now() + ${run.delaySeconds} * interval '1 second'`,
        }),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  /** A change of a run together with what it means for the thread, whose row is locked first: others accept runs. */
  async #withThread(
    run: RunRecord,
    thread: ThreadOutcome | undefined,
    error: RunFailure | undefined,
    change: (db: Kysely<AgentTables>) => Promise<boolean>,
  ): Promise<boolean> {
    if (thread === undefined) return change(this.#db);
    return this.#db.transaction().execute(async (transaction) => {
      await this.#lockThread(transaction, run.thread_id);
      const changed = await change(transaction);
      if (changed) await this.#leaveThread(transaction, run.thread_id, thread, error);
      return changed;
    });
  }

  /** Answers whether there is such a thread. */
  async #lockThread(transaction: Transaction<AgentTables>, threadId: string): Promise<boolean> {
    const thread = await transaction
      .selectFrom('slipway_agent.threads')
      .select('thread_id')
      .where('deployment_id', '=', this.#deploymentId)
      .where('thread_id', '=', threadId)
      .forUpdate()
      .executeTakeFirst();
    return thread !== undefined;
  }

  async #leaveThread(
    transaction: Transaction<AgentTables>,
    threadId: string,
    outcome: ThreadOutcome,
    error?: RunFailure,
  ): Promise<void> {
    const others = transaction
      .selectFrom('slipway_agent.runs')
      .select('run_id')
      .where('deployment_id', '=', this.#deploymentId)
      .where('thread_id', '=', threadId)
      .where('status', 'in', ACTIVE);
    await transaction
      .updateTable('slipway_agent.threads')
      .set({
        status: sql<string>`CASE WHEN EXISTS (${others}) THEN 'busy' ELSE ${outcome.status} END`,
        updated_at: sql<Date>`now()`,
        interrupts: outcome.interrupts,
        error: outcome.status === 'error' && error !== undefined ? JSON.stringify(error) : null,
        ...(outcome.values !== undefined && { values: outcome.values }),
      })
      .where('deployment_id', '=', this.#deploymentId)
      .where('thread_id', '=', threadId)
      .execute();
  }
}

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
