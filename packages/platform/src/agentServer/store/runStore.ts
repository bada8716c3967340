import { type Kysely, type RawBuilder, sql } from 'kysely';

import { HttpProblem } from '../../http/problem.ts';
import {
  ACTIVE,
  type AgentTables,
  DeploymentStore,
  type ProcessOfDeployment,
  type RunRecord,
} from './agentDatabase.ts';
import { deleteThreads, storedThreadId } from './checkpointTables.ts';
import { setMarks, type ThreadMarks } from './runEnds.ts';
import { isThreadEmpty, savePendingWrites } from './runFootprint.ts';
import { threadNotFound, threadTaken } from './threadProblems.ts';

export interface NewRun {
  readonly runId: string;
  readonly threadId: string;
  readonly assistantId: string;
  readonly metadata: Record<string, unknown>;
  readonly kwargs: Record<string, unknown>;
  readonly marks: ThreadMarks;
  readonly multitaskStrategy: string;
  /** Whether it has no thread (contract 001, rule 5). */
  readonly stateless: boolean;
  /** Whether to create its thread if that does not exist. */
  readonly createsThread: boolean;
  /** The delay before it begins, in seconds. */
  readonly delaySeconds: number;
}

export interface BegunRun {
  readonly run: RunRecord;
  /** Whether writes were pending on its thread, and are kept for a rollback (`RunFootprint`). */
  readonly hasSavedWrites: boolean;
  readonly isThreadEmpty: boolean;
}

/** An accepted run. It waits for `earlierRuns`, oldest first, or has begun already (`begunRun`). */
export interface AcceptedRun {
  readonly run: RunRecord;
  readonly earlierRuns: readonly RunRecord[];
  readonly begunRun?: BegunRun;
}

/** The most runs that one query claims: after a crash, a process spreads its claims over several queries. */
const CLAIM_MAX = 200;

/**
 * Finds runs, and changes them until they end: accept, begin, claim, cancel, remove. Each change is one transaction.
 *
 * A run belongs to the process in `owner` while that process is listed (`ProcessStore`). A claimed run is `pending`
 * again and begins as another attempt, which fences its writes.
 */
export class RunStore extends DeploymentStore {
  readonly #processId: string;

  constructor(of: ProcessOfDeployment) {
    super(of);
    this.#processId = of.processId;
  }

  async find(threadId: string, runId: string): Promise<RunRecord | undefined> {
    return this.#ofThread(threadId).where('run_id', '=', runId).executeTakeFirst();
  }

  /** @throws HttpProblem 404 */
  async get(threadId: string, runId: string): Promise<RunRecord> {
    const run = await this.find(threadId, runId);
    if (run === undefined) throw new HttpProblem(404, `Run ${runId} of thread ${threadId} not found.`);
    return run;
  }

  async findById(runId: string): Promise<RunRecord | undefined> {
    return this.#ofDeployment().where('run_id', '=', runId).executeTakeFirst();
  }

  async list(
    threadId: string,
    options: { limit?: number; offset: number; status?: string },
  ): Promise<RunRecord[]> {
    let query = this.#ofThread(threadId);
    if (options.status !== undefined) query = query.where('status', '=', options.status);
    if (options.limit !== undefined) query = query.limit(options.limit);
    return query.orderBy('sequence', 'desc').offset(options.offset).execute();
  }

  /** The deployment's runs with these statuses, oldest first. */
  async withStatus(statuses: readonly string[]): Promise<RunRecord[]> {
    return this.#ofDeployment().where('status', 'in', statuses).orderBy('sequence').execute();
  }

  /** A thread's active runs, oldest first; only those in `runIds` if given. */
  async activeRuns(threadId: string, runIds?: readonly string[]): Promise<RunRecord[]> {
    const active = this.#activeOfThread(threadId);
    if (runIds === undefined) return active.execute();
    return active.where('run_id', '=', sql<string>`ANY(${runIds}::uuid[])`).execute();
  }

  /** A thread's due runs after a sequence, oldest first: at most 100. */
  async runsAfter(threadId: string, sequence: bigint): Promise<RunRecord[]> {
    return this.#ofThread(threadId)
      .where(sql<boolean>`start_after IS NULL AND sequence > ${String(sequence)}::bigint`)
      .orderBy('sequence')
      .limit(100)
      .execute();
  }

  /** The given runs that are still active, in any process. */
  async filterActive(runIds: readonly string[]): Promise<Set<string>> {
    const rows = await this.db
      .selectFrom('slipway_agent.runs')
      .select('run_id')
      .where('run_id', '=', sql<string>`ANY(${runIds}::uuid[])`)
      .where('status', 'in', ACTIVE)
      .execute();
    return new Set(rows.map((row) => row.run_id));
  }

  /**
   * Accepts a run, and begins it in the same statement if its thread has no active run and `canBegin` is true. The
   * thread's row is locked meanwhile, so runs of one thread are accepted one after another. If its strategy stops the
   * active runs, their cancel is stored in the same transaction, and so survives this process's death.
   * @throws HttpProblem 404 for an unknown thread; 409 if the strategy is `reject` and a run is active, or for the thread
   * id of a stateless run.
   */
  async accept(run: NewRun, canBegin = false): Promise<AcceptedRun> {
    const begins = canBegin && run.delaySeconds === 0;
    const threadCondition = this.threadCondition(run.threadId);
    // A thread is `busy` exactly while it has active runs, so both change together. A statement sees the checkpoints as
    // of its start, so if the thread has changed since, the run begins in a later one.
    const isFree = sql`threads.status <> 'busy'
      AND threads.updated_at = (SELECT t.updated_at FROM slipway_agent.threads t WHERE ${threadCondition})`;
    const threadUpdate = sql`status = 'busy', updated_at = now() ${begins ? sql`, ${setMarks(run.marks)}` : sql``}`;
    const free = run.createsThread
      ? sql`${this.#threadInsert(run, begins)}
          ON CONFLICT (deployment_id, thread_id) DO UPDATE SET ${threadUpdate} WHERE ${isFree} RETURNING 1`
      : sql`UPDATE slipway_agent.threads SET ${threadUpdate} WHERE ${threadCondition} AND ${isFree} RETURNING 1`;
    const accepted = await this.#insert(this.db, run, run.stateless ? sql`SELECT 1` : free, begins);
    if (accepted !== undefined)
      return { run: accepted.run, earlierRuns: [], ...(begins && { begunRun: accepted }) };
    return this.db.transaction().execute(async (db) => {
      // The update locks the thread. If the run is rejected after all, the transaction undoes it.
      const thread = await sql`UPDATE slipway_agent.threads SET status = 'busy', updated_at = now()
        WHERE ${threadCondition} RETURNING 1`.execute(db);
      if (thread.rows.length === 0)
        throw run.createsThread ? threadTaken(run.threadId) : threadNotFound(run.threadId);
      const earlierRuns = await this.#activeOfThread(run.threadId, db).execute();
      const [active] = earlierRuns;
      if (active !== undefined && run.multitaskStrategy === 'reject') {
        throw new HttpProblem(
          409,
          `Thread ${run.threadId} is busy with run ${active.run_id}: wait for it, cancel it, or give another multitask_strategy.`,
        );
      }
      const runIds = earlierRuns.map((each) => each.run_id);
      if (['interrupt', 'rollback'].includes(run.multitaskStrategy))
        await storeCancel(db, runIds, run.multitaskStrategy);
      const inserted = await this.#insert(db, run, sql`SELECT 1`, false);
      if (inserted === undefined) throw new Error('An insert returned nothing.');
      return { run: inserted.run, earlierRuns };
    });
  }

  /** Accepts runs without threads like {@link accept}: all or none. */
  async acceptAll(runs: readonly Parameters<RunStore['accept']>[]): Promise<AcceptedRun[]> {
    return this.db.transaction().execute(async (db) => {
      const store = new RunStore({ db, deploymentId: this.deploymentId, processId: this.#processId });
      const accepted: AcceptedRun[] = [];
      for (const run of runs) accepted.push(await store.accept(...run));
      return accepted;
    });
  }

  /** How long a run must wait until it is due, in milliseconds. */
  async remainingDelay({ run_id: runId }: RunRecord): Promise<number> {
    const { rows } = await sql<{ ms: number }>`
      SELECT extract(epoch FROM start_after - now())::double precision * 1000 AS ms
      FROM slipway_agent.runs WHERE run_id = ${runId}`.execute(this.db);
    return rows[0]?.ms ?? 0;
  }

  /**
   * Ends the delay of a run, which is the thread's newest from now on. The thread's row is locked meanwhile, as in
   * {@link accept}. `undefined`: not owned as pending.
   */
  async endDelay(run: RunRecord): Promise<RunRecord | undefined> {
    return this.db.transaction().execute(async (db) => {
      await sql`UPDATE slipway_agent.threads SET updated_at = now()
        WHERE ${this.threadCondition(run.thread_id)}`.execute(db);
      return db
        .updateTable('slipway_agent.runs')
        .set({
          start_after: null,
          sequence: sql<string>`nextval(pg_get_serial_sequence('slipway_agent.runs', 'sequence'))`,
        })
        .where('run_id', '=', run.run_id)
        .where('owner', '=', this.#processId)
        .where('status', '=', 'pending')
        .returningAll()
        .executeTakeFirst();
    });
  }

  /**
   * Moves a run from `pending` to `running` as the next attempt. `undefined`: not owned as pending, or not its turn.
   * Runs whose delay has not ended do not count. `marks`: its thread's from now on. If this process dies before they are
   * stored, the next attempt stores them.
   */
  async begin(run: RunRecord, marks: ThreadMarks): Promise<BegunRun | undefined> {
    const threadCondition = this.threadCondition(run.thread_id);
    const begun = await this.#beginRun(
      this.db,
      sql`
        UPDATE slipway_agent.runs r
        SET status = 'running', attempt = attempt + 1, updated_at = now(),
          (metadata_before, config_before) = (SELECT
            CASE r.attempt WHEN 0 THEN t.metadata ELSE r.metadata_before END,
            CASE r.attempt WHEN 0 THEN t.config ELSE r.config_before END
            FROM slipway_agent.threads t WHERE ${threadCondition})
        WHERE run_id = ${run.run_id} AND status = 'pending' AND owner = ${this.#processId}
          AND NOT EXISTS (SELECT 1 FROM slipway_agent.runs e
            WHERE e.deployment_id = r.deployment_id AND e.thread_id = r.thread_id
              AND e.status IN ('pending', 'running') AND e.start_after IS NULL AND e.sequence < r.sequence)
        RETURNING *`,
      { threadId: run.thread_id, kwargs: run.kwargs },
    );
    if (begun !== undefined)
      await sql`UPDATE slipway_agent.threads SET ${setMarks(marks)} WHERE ${threadCondition}`.execute(
        this.db,
      );
    return begun;
  }

  async owned(): Promise<string[]> {
    const rows = await this.db
      .selectFrom('slipway_agent.runs')
      .select('run_id')
      .where('owner', '=', this.#processId)
      .where('status', 'in', ACTIVE)
      .execute();
    return rows.map((row) => row.run_id);
  }

  /** Claims runs without a living owner, oldest first, and this process's own whose end could not be stored. */
  async claim(dropped: readonly string[]): Promise<RunRecord[]> {
    const { rows } = await sql<RunRecord>`
      WITH free AS (
        SELECT r.run_id FROM slipway_agent.runs r
        WHERE r.deployment_id = ${this.deploymentId} AND r.status IN ('pending', 'running')
          AND (NOT EXISTS (SELECT 1 FROM slipway_agent.processes p WHERE p.process_id = r.owner)
            OR (r.owner = ${this.#processId} AND r.run_id = ANY(${dropped}::uuid[])))
        ORDER BY r.sequence LIMIT ${CLAIM_MAX} FOR UPDATE SKIP LOCKED
      )
      UPDATE slipway_agent.runs r
      SET owner = ${this.#processId}, status = 'pending', updated_at = now(),
        lost_attempts = lost_attempts + CASE WHEN r.status = 'running' THEN 1 ELSE 0 END
      FROM free WHERE r.run_id = free.run_id
      RETURNING r.*`.execute(this.db);
    return rows.sort((left, right) => Number(BigInt(left.sequence) - BigInt(right.sequence)));
  }

  /** Releases a run for the next process that claims it. Its attempt does not count as lost. */
  async release(run: Pick<RunRecord, 'run_id' | 'attempt'>): Promise<void> {
    await this.db
      .updateTable('slipway_agent.runs')
      .set({ owner: '', status: 'pending', updated_at: sql<Date>`now()` })
      .where('run_id', '=', run.run_id)
      .where('owner', '=', this.#processId)
      .where('attempt', '=', run.attempt)
      .where('status', 'in', ACTIVE)
      .execute();
  }

  /** The runs of this process for which another process requested a cancel or stored events. */
  async pendingRequests(): Promise<Pick<RunRecord, 'run_id' | 'cancel_action' | 'followed'>[]> {
    const active = this.db
      .selectFrom('slipway_agent.runs')
      .select(['run_id', 'cancel_action', 'followed'])
      .where('owner', '=', this.#processId)
      .where('status', 'in', ACTIVE);
    // Each condition has its own index.
    return active
      .where('cancel_action', 'is not', null)
      .union(active.where(sql<boolean>`followed`))
      .execute();
  }

  /** Marks runs for cancellation, in any process. Returns those that were still active. */
  async requestCancel(runIds: readonly string[], action: string): Promise<string[]> {
    return storeCancel(this.db, runIds, action);
  }

  /** Removes the record of an ended run. */
  remove(run: Pick<RunRecord, 'run_id'>): Promise<void> {
    return this.#removeRecords(sql<boolean>`run_id = ${run.run_id} AND status NOT IN ('pending', 'running')`);
  }

  /** Removes the expired records of stateless runs. */
  removeExpired(): Promise<void> {
    return this.#removeRecords(sql<boolean>`expires_at < now()`);
  }

  /** Removes records; those of stateless runs with the checkpoints that their ends left. */
  async #removeRecords(condition: RawBuilder<boolean>): Promise<void> {
    await this.db.transaction().execute(async (db) => {
      const rows = await db
        .deleteFrom('slipway_agent.runs')
        .where('deployment_id', '=', this.deploymentId)
        .where(condition)
        .returning(['thread_id', 'expires_at'])
        .execute();
      const stateless = rows.filter((row) => row.expires_at !== null);
      const keys = stateless.map((row) => storedThreadId(this.deploymentId, row.thread_id));
      if (keys.length > 0) await deleteThreads(db, keys);
    });
  }

  #ofDeployment(db = this.db) {
    return db.selectFrom('slipway_agent.runs').selectAll().where('deployment_id', '=', this.deploymentId);
  }

  #ofThread(threadId: string, db = this.db) {
    return this.#ofDeployment(db).where('thread_id', '=', threadId);
  }

  #activeOfThread(threadId: string, db = this.db) {
    return this.#ofThread(threadId, db).where('status', 'in', ACTIVE).orderBy('sequence');
  }

  /** Inserts a run for each row that `thread` returns: none or one. */
  #insert(
    db: Kysely<AgentTables>,
    run: NewRun,
    thread: RawBuilder<unknown>,
    isBegun: boolean,
  ): Promise<BegunRun | undefined> {
    const delay = run.delaySeconds > 0 ? run.delaySeconds : null;
    return this.#beginRun(
      db,
      sql`
        INSERT INTO slipway_agent.runs (run_id, deployment_id, thread_id, assistant_id, metadata, status, attempt, kwargs,
          multitask_strategy, owner, start_after, metadata_before, config_before)
        SELECT ${run.runId}::uuid, ${this.deploymentId}, ${run.threadId}::uuid, ${run.assistantId}::uuid,
          ${JSON.stringify(run.metadata)}::jsonb, ${isBegun ? 'running' : 'pending'}, ${isBegun ? 1 : 0}::int,
          ${JSON.stringify(run.kwargs)}::json, ${run.multitaskStrategy}, ${this.#processId},
          now() + ${delay}::double precision * interval '1 second', before.metadata, before.config
        FROM thread LEFT JOIN slipway_agent.threads before ON ${isBegun} AND ${this.threadCondition(run.threadId)}
        RETURNING *`,
      run,
      thread,
    );
  }

  /** Changes a run in one statement that, for its first attempt, also keeps the pending writes of its thread. */
  async #beginRun(
    db: Kysely<AgentTables>,
    change: RawBuilder<unknown>,
    of: Pick<NewRun, 'threadId' | 'kwargs'>,
    thread: RawBuilder<unknown> = sql`SELECT 1`,
  ): Promise<BegunRun | undefined> {
    const first = sql`SELECT run_id FROM begun WHERE attempt = 1 AND status = 'running'`;
    const { rows } = await sql<RunRecord & { kept: string; blank: boolean }>`
      WITH thread AS (${thread}), begun AS (${change}), kept AS (${savePendingWrites(first, this.deploymentId, of)})
      SELECT begun.*, (SELECT count(*) FROM kept) AS kept, ${isThreadEmpty(this.deploymentId, of.threadId)} AS blank
      FROM begun`.execute(db);
    const [row] = rows;
    if (row === undefined) return undefined;
    const { kept, blank, ...run } = row;
    return { run, hasSavedWrites: run.attempt > 1 || Number(kept) > 0, isThreadEmpty: blank };
  }

  #threadInsert(run: NewRun, begins: boolean): RawBuilder<unknown> {
    const { origin, config } = begins ? run.marks : { origin: '{}', config: '{}' };
    const condition = this.threadCondition(run.threadId);
    return sql`INSERT INTO slipway_agent.threads (deployment_id, thread_id, status, metadata, config)
      SELECT ${this.deploymentId}, ${run.threadId}::uuid, 'busy', ${origin}::jsonb, ${config}::json
      WHERE EXISTS (SELECT 1 FROM slipway_agent.threads WHERE ${condition})
        OR NOT EXISTS (SELECT 1 FROM slipway_agent.runs WHERE ${condition})`;
  }
}

/** Stores a cancel. A rollback overrides an interrupt, but an interrupt does not override a rollback. */
async function storeCancel(
  db: Kysely<AgentTables>,
  runIds: readonly string[],
  action: string,
): Promise<string[]> {
  const noted = await db
    .updateTable('slipway_agent.runs')
    .set({
      cancel_action: sql<string>`CASE WHEN cancel_action = 'rollback' THEN 'rollback' ELSE ${action} END`,
    })
    .where('run_id', '=', sql<string>`ANY(${runIds}::uuid[])`)
    .where('status', 'in', ACTIVE)
    .returning('run_id')
    .execute();
  return noted.map((run) => run.run_id);
}
