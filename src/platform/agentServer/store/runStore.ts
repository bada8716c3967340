import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';

import { HttpProblem } from '../../http/problem.ts';
import { type AgentTables, type RunFailure, type RunsTable } from './agentDatabase.ts';

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
  readonly multitaskStrategy: string;
  /** Whether it has no thread (contract 001, rule 5). */
  readonly stateless: boolean;
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
   * `before` are the runs that were active then, oldest first, which this one has to wait for.
   * @throws HttpProblem 404 for an unknown thread, 409 where the strategy is `reject` and a run is active.
   */
  async accept(run: NewRun): Promise<{ run: RunRecord; before: RunRecord[] }> {
    if (run.stateless) return { run: await this.#insert(this.#db, run), before: [] };
    return this.#db.transaction().execute(async (transaction) => {
      const thread = await transaction
        .selectFrom('slipway_agent.threads')
        .select('thread_id')
        .where('deployment_id', '=', this.#deploymentId)
        .where('thread_id', '=', run.threadId)
        .forUpdate()
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
      const record = await this.#insert(transaction, run);
      const origin = JSON.stringify({ graph_id: run.graphId, assistant_id: run.assistantId });
      await transaction
        .updateTable('slipway_agent.threads')
        .set({ status: 'busy', updated_at: sql<Date>`now()`, metadata: sql`metadata || ${origin}::jsonb` })
        .where('deployment_id', '=', this.#deploymentId)
        .where('thread_id', '=', run.threadId)
        .execute();
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

  /** From `pending` to `running`, counting the attempt; `undefined` when it is not pending any more. */
  async begin(runId: string): Promise<RunRecord | undefined> {
    return this.#db
      .updateTable('slipway_agent.runs')
      .set({
        status: 'running',
        attempt: sql`attempt + 1`,
        updated_at: sql<Date>`now()`,
        owner: this.#processId,
      })
      .where('run_id', '=', runId)
      .where('status', '=', 'pending')
      .returningAll()
      .executeTakeFirst();
  }

  /**
   * Ends an active run and leaves its thread as `thread` says, or `busy` while others wait on it. Answers whether
   * it was still active.
   */
  async finish(
    run: RunRecord,
    ending: { status: string; error?: RunFailure; output?: string; thread?: ThreadOutcome | undefined },
  ): Promise<boolean> {
    return this.#db.transaction().execute(async (transaction) => {
      const ended = await transaction
        .updateTable('slipway_agent.runs')
        .set({
          status: ending.status,
          updated_at: sql<Date>`now()`,
          error: ending.error === undefined ? null : JSON.stringify(ending.error),
          output: ending.output ?? null,
        })
        .where('run_id', '=', run.run_id)
        .where('status', 'in', ACTIVE)
        .returning('run_id')
        .executeTakeFirst();
      if (ended !== undefined && ending.thread !== undefined) {
        await this.#leaveThread(transaction, run.thread_id, ending.thread, ending.error);
      }
      return ended !== undefined;
    });
  }

  /** Removes a run for good; a thread that is given is left as it says. */
  async remove(run: Pick<RunRecord, 'run_id' | 'thread_id'>, thread?: ThreadOutcome): Promise<void> {
    await this.#db.transaction().execute(async (transaction) => {
      await transaction.deleteFrom('slipway_agent.runs').where('run_id', '=', run.run_id).execute();
      if (thread !== undefined) await this.#leaveThread(transaction, run.thread_id, thread);
    });
  }

  /** Notes that active runs are to be cancelled, for whichever process executes them. */
  async requestCancel(runIds: readonly string[], action: string): Promise<void> {
    await this.#db
      .updateTable('slipway_agent.runs')
      .set({ cancel_action: action })
      .where('run_id', 'in', [...runIds])
      .where('status', 'in', ACTIVE)
      .execute();
  }

  /** The runs of this process that another one asked to cancel. */
  async cancelRequests(): Promise<{ run_id: string; cancel_action: string | null }[]> {
    return this.#db
      .selectFrom('slipway_agent.runs')
      .select(['run_id', 'cancel_action'])
      .where('deployment_id', '=', this.#deploymentId)
      .where('owner', '=', this.#processId)
      .where('status', 'in', ACTIVE)
      .where('cancel_action', 'is not', null)
      .execute();
  }

  /** Active runs of the deployment whose owner is one of the given processes. */
  async activeOfOwners(owners: readonly string[]): Promise<RunRecord[]> {
    if (owners.length === 0) return [];
    return this.#mine()
      .where('status', 'in', ACTIVE)
      .where('owner', 'in', [...owners])
      .orderBy('sequence')
      .execute();
  }

  /** The owners of the deployment's active runs, other than this process. */
  async otherOwners(): Promise<string[]> {
    const rows = await this.#db
      .selectFrom('slipway_agent.runs')
      .select('owner')
      .distinct()
      .where('deployment_id', '=', this.#deploymentId)
      .where('status', 'in', ACTIVE)
      .where('owner', '!=', this.#processId)
      .execute();
    return rows.map((row) => row.owner);
  }

  /** Makes a pending run of a dead process this process's own; `undefined` when another was faster. */
  async adopt(run: RunRecord): Promise<{ run: RunRecord; before: RunRecord[] } | undefined> {
    const adopted = await this.#db
      .updateTable('slipway_agent.runs')
      .set({ owner: this.#processId, updated_at: sql<Date>`now()` })
      .where('run_id', '=', run.run_id)
      .where('owner', '=', run.owner)
      .where('status', '=', 'pending')
      .returningAll()
      .executeTakeFirst();
    if (adopted === undefined) return undefined;
    const active = await this.#activeOf(this.#db, run.thread_id);
    return {
      run: adopted,
      before: active.filter((other) => BigInt(other.sequence) < BigInt(adopted.sequence)),
    };
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
      })
      .returningAll()
      .executeTakeFirstOrThrow();
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

/** 404 for a thread that the deployment does not have. */
export function threadNotFound(threadId: string): HttpProblem {
  return new HttpProblem(404, `Thread ${threadId} not found.`);
}
