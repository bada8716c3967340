import { randomBytes } from 'node:crypto';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';

import { type RunnableConfig } from '@langchain/core/runnables';
import {
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  MemorySaver,
  type PendingWrite,
  type SerializerProtocol,
} from '@langchain/langgraph-checkpoint';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { type Pool } from 'pg';

import { UnserializableValue } from '../runs/wireJson.ts';
import { CHECKPOINT_SCHEMA, storedThreadId } from './agentDatabase.ts';

/**
 * The checkpointer of every graph that an agent server serves: LangGraph's `PostgresSaver`, and what it lacks here.
 *
 * - Threads of different deployments share the tables and never see each other: the stored thread id carries the
 *   deployment's.
 * - Every checkpoint carries the ids of the run that made it (contract 001, "Thread state": `metadata`), so that
 *   {@link forgetRun} can take a run back.
 * - Channel versions are unique strings. The saver's own are counters, and it never overwrites a stored value: two
 *   branches of a thread, or a run after a rolled back one, would read each other's values.
 * - Temporary threads (stateless runs) live in memory and leave nothing behind.
 * - A run that was stopped is fenced: LangGraph answers an abort at once and goes on behind it, and what still runs
 *   must not write into a thread that has moved on.
 */
export class CheckpointStore extends PostgresSaver {
  readonly #pool: Pool;
  readonly #deploymentId: string;
  readonly #temporary = new Map<string, MemorySaver>();
  readonly #writing = new Map<string, Set<Promise<unknown>>>();
  readonly #fenced = new Set<string>();

  constructor(pool: Pool, deploymentId: string) {
    super(pool, undefined, { schema: CHECKPOINT_SCHEMA });
    this.serde = refusingNothingness(this.serde);
    this.#pool = pool;
    this.#deploymentId = deploymentId;
  }

  /** Makes the tables where they are missing; several processes may do so at once. */
  override async setup(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await super.setup();
        break;
      } catch (error) {
        if (attempt === 10 || !isCreatedMeanwhile(error)) throw error;
        await delay(20 * attempt);
      }
    }
    await this.#pool.query(`
      CREATE TABLE IF NOT EXISTS ${CHECKPOINT_SCHEMA}.writes_before_run (
        run_id uuid NOT NULL,
        LIKE ${CHECKPOINT_SCHEMA}.checkpoint_writes
      )`);
    await this.#pool.query(
      `CREATE INDEX IF NOT EXISTS writes_before_run_by_run ON ${CHECKPOINT_SCHEMA}.writes_before_run (run_id)`,
    );
  }

  /** Keeps a thread's checkpoints in memory until {@link closeTemporary}. */
  openTemporary(threadId: string): void {
    this.#temporary.set(threadId, new MemorySaver());
  }

  closeTemporary(threadId: string): void {
    this.#temporary.delete(threadId);
  }

  /**
   * Lets a stopped run store the steps that it has completed, then lets it store nothing more. Resolves when none of
   * its writes is under way.
   */
  async fence(runId: string): Promise<void> {
    for (let writing = this.#writing.get(runId); writing !== undefined; writing = this.#writing.get(runId)) {
      await Promise.allSettled(writing);
      // A write that was queued behind the last one starts now.
      await setImmediate();
    }
    this.#fenced.add(runId);
    const [oldest] = this.#fenced;
    if (this.#fenced.size > FENCES_MAX && oldest !== undefined) this.#fenced.delete(oldest);
  }

  override getNextVersion(current: number | string | undefined): never {
    const counter = Number.parseInt(String(current ?? '0'), 10) + 1;
    // The base class is typed for counters; LangGraph compares either kind.
    return `${String(counter).padStart(16, '0')}.${randomBytes(6).toString('hex')}` as never;
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const memory = this.#memoryOf(config);
    if (memory) return memory.getTuple(config);
    const tuple = await super.getTuple(this.#stored(config));
    return tuple && this.#served(tuple);
  }

  override async *list(
    config: RunnableConfig,
    options?: CheckpointListOptions,
  ): AsyncGenerator<CheckpointTuple> {
    const memory = this.#memoryOf(config);
    if (memory) {
      yield* memory.list(config, options);
      return;
    }
    for await (const tuple of super.list(this.#stored(config), options)) yield this.#served(tuple);
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: Record<string, number | string>,
  ): Promise<RunnableConfig> {
    const whole = { ...originOf(config), ...metadata } as CheckpointMetadata;
    const memory = this.#memoryOf(config);
    if (memory) return memory.put(config, checkpoint, whole);
    const next = await this.#writeOf(config, () =>
      super.put(this.#stored(config), checkpoint, whole, newVersions),
    );
    return this.#servedConfig(next);
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const memory = this.#memoryOf(config);
    if (memory) return memory.putWrites(config, writes, taskId);
    return this.#writeOf(config, () => super.putWrites(this.#stored(config), writes, taskId));
  }

  override async deleteThread(threadId: string): Promise<void> {
    await super.deleteThread(this.#key(threadId));
  }

  /** Copies every checkpoint of a thread to another, new thread. */
  async copyThread(fromThreadId: string, toThreadId: string): Promise<void> {
    const keys = [this.#key(fromThreadId), this.#key(toThreadId)];
    await this.#transaction(async (run) => {
      await run(
        `INSERT INTO ${CHECKPOINT_SCHEMA}.checkpoints
           (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
         SELECT $2::text, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
         FROM ${CHECKPOINT_SCHEMA}.checkpoints WHERE thread_id = $1`,
        keys,
      );
      await run(
        `INSERT INTO ${CHECKPOINT_SCHEMA}.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
         SELECT $2::text, checkpoint_ns, channel, version, type, blob
         FROM ${CHECKPOINT_SCHEMA}.checkpoint_blobs WHERE thread_id = $1`,
        keys,
      );
      await run(
        `INSERT INTO ${CHECKPOINT_SCHEMA}.checkpoint_writes
           (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
         SELECT $2::text, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob
         FROM ${CHECKPOINT_SCHEMA}.checkpoint_writes WHERE thread_id = $1`,
        keys,
      );
    });
  }

  /**
   * Before a run starts: keeps what is pending on the thread's newest checkpoints (a resumed run writes there), so
   * that {@link forgetRun} can restore it. Answers whether anything was kept.
   */
  async rememberPending(threadId: string, runId: string): Promise<boolean> {
    const result = await this.#pool.query(
      `INSERT INTO ${CHECKPOINT_SCHEMA}.writes_before_run
         (run_id, thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
       SELECT $2::uuid, w.thread_id, w.checkpoint_ns, w.checkpoint_id, w.task_id, w.idx, w.channel, w.type, w.blob
       FROM ${CHECKPOINT_SCHEMA}.checkpoint_writes w JOIN (${NEWEST}) n USING (checkpoint_ns, checkpoint_id)
       WHERE w.thread_id = $1`,
      [this.#key(threadId), runId],
    );
    return (result.rowCount ?? 0) > 0;
  }

  /** Drops what {@link rememberPending} kept: the run has ended and stays. */
  async dropRemembered(runIds: readonly string[]): Promise<void> {
    await this.#pool.query(
      `DELETE FROM ${CHECKPOINT_SCHEMA}.writes_before_run WHERE run_id = ANY($1::uuid[])`,
      [runIds],
    );
  }

  /**
   * Takes a run back (contract 001, "States and transitions": rollback): its checkpoints go, and the thread is as it
   * was before the run, with what was pending then.
   */
  async forgetRun(threadId: string, runId: string): Promise<void> {
    const key = this.#key(threadId);
    await this.#transaction(async (run) => {
      await run(
        `DELETE FROM ${CHECKPOINT_SCHEMA}.checkpoint_writes w USING ${CHECKPOINT_SCHEMA}.checkpoints c
         WHERE c.thread_id = $1 AND c.metadata->>'run_id' = $2
           AND w.thread_id = c.thread_id AND w.checkpoint_ns = c.checkpoint_ns AND w.checkpoint_id = c.checkpoint_id`,
        [key, runId],
      );
      await run(
        `DELETE FROM ${CHECKPOINT_SCHEMA}.checkpoints WHERE thread_id = $1 AND metadata->>'run_id' = $2`,
        [key, runId],
      );
      await run(
        `DELETE FROM ${CHECKPOINT_SCHEMA}.checkpoint_writes w USING (${NEWEST}) n
         WHERE w.thread_id = $1 AND w.checkpoint_ns = n.checkpoint_ns AND w.checkpoint_id = n.checkpoint_id`,
        [key],
      );
      await run(
        `INSERT INTO ${CHECKPOINT_SCHEMA}.checkpoint_writes
           (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
         SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob
         FROM ${CHECKPOINT_SCHEMA}.writes_before_run WHERE run_id = $1::uuid
         ON CONFLICT DO NOTHING`,
        [runId],
      );
      await run(`DELETE FROM ${CHECKPOINT_SCHEMA}.writes_before_run WHERE run_id = $1::uuid`, [runId]);
      await run(DROP_UNUSED_BLOBS, [key]);
    });
  }

  /** Drops a thread's history: of each namespace only the newest checkpoint stays. */
  async dropHistory(threadId: string): Promise<void> {
    const key = this.#key(threadId);
    await this.#transaction(async (run) => {
      for (const table of ['checkpoint_writes', 'checkpoints']) {
        await run(
          `DELETE FROM ${CHECKPOINT_SCHEMA}.${table} t WHERE t.thread_id = $1 AND NOT EXISTS (
             SELECT 1 FROM (${NEWEST}) n
             WHERE n.checkpoint_ns = t.checkpoint_ns AND n.checkpoint_id = t.checkpoint_id)`,
          [key],
        );
      }
      await run(DROP_UNUSED_BLOBS, [key]);
    });
  }

  async #transaction(work: (run: (sql: string, values: unknown[]) => Promise<unknown>) => Promise<void>) {
    const client = await this.#pool.connect();
    try {
      await client.query('BEGIN');
      await work((sql, values) => client.query(sql, values));
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }

  #memoryOf(config: RunnableConfig): MemorySaver | undefined {
    return this.#temporary.get(String(configurableOf(config)['thread_id']));
  }

  #key(threadId: string): string {
    return storedThreadId(this.#deploymentId, threadId);
  }

  #stored(config: RunnableConfig): RunnableConfig {
    const configurable = configurableOf(config);
    return {
      ...config,
      configurable: { ...configurable, thread_id: this.#key(String(configurable['thread_id'])) },
    };
  }

  #servedConfig(config: RunnableConfig): RunnableConfig {
    const configurable = configurableOf(config);
    const threadId = String(configurable['thread_id']).slice(storedThreadId(this.#deploymentId, '').length);
    return { ...config, configurable: { ...configurable, thread_id: threadId } };
  }

  #served(tuple: CheckpointTuple): CheckpointTuple {
    return {
      ...tuple,
      config: this.#servedConfig(tuple.config),
      ...(tuple.parentConfig && { parentConfig: this.#servedConfig(tuple.parentConfig) }),
    };
  }

  /** A write of a run: refused once the run is fenced, and waited for by who fences it. */
  async #writeOf<T>(config: RunnableConfig, write: () => Promise<T>): Promise<T> {
    const runId = originOf(config)['run_id'];
    if (typeof runId !== 'string') return write();
    if (this.#fenced.has(runId)) throw new Error(`Run ${runId} has ended; nothing more of it is stored.`);
    const written = write();
    const writing = this.#writing.get(runId) ?? new Set();
    this.#writing.set(runId, writing.add(written));
    try {
      return await written;
    } finally {
      writing.delete(written);
      if (writing.size === 0) this.#writing.delete(runId);
    }
  }
}

/**
 * What JSON has no word for (a function, a symbol) would be stored as no bytes at all, and the thread could never be
 * read again: such a write fails instead, and with it the run, by the error's name.
 */
function refusingNothingness(serde: SerializerProtocol): SerializerProtocol {
  return {
    loadsTyped: (type, data) => serde.loadsTyped(type, data),
    dumpsTyped: async (value) => {
      const [type, data] = await serde.dumpsTyped(value);
      if (type === 'json' && data.byteLength === 0)
        throw new UnserializableValue('A value of the state', `a ${typeof value}`);
      return [type, data];
    },
  };
}

/** How many fences are kept: the oldest go first, long after their runs have come to rest. */
const FENCES_MAX = 10_000;

/** The newest checkpoint of each namespace of the thread `$1`: checkpoint ids sort by time. */
const NEWEST = `
  SELECT checkpoint_ns, max(checkpoint_id) AS checkpoint_id
  FROM ${CHECKPOINT_SCHEMA}.checkpoints WHERE thread_id = $1 GROUP BY checkpoint_ns`;

/** Drops the values of the thread `$1` that no checkpoint refers to. */
const DROP_UNUSED_BLOBS = `
  DELETE FROM ${CHECKPOINT_SCHEMA}.checkpoint_blobs b WHERE b.thread_id = $1 AND NOT EXISTS (
    SELECT 1 FROM ${CHECKPOINT_SCHEMA}.checkpoints c
    WHERE c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns
      AND c.checkpoint->'channel_versions'->>b.channel = b.version)`;

/** What of a run's metadata its checkpoints keep (contract 001, "Thread state"): not LangGraph's own per-task notes. */
function originOf(config: RunnableConfig): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(config.metadata ?? {})) {
    if (/^(langgraph_|ls_|lc_|__|checkpoint_)/.test(name) || name === 'lc_versions') continue;
    if (value === undefined || typeof value === 'function' || typeof value === 'symbol') continue;
    kept[name] = value;
  }
  return kept;
}

function configurableOf(config: RunnableConfig): Record<string, unknown> {
  return (config.configurable ?? {}) as Record<string, unknown>;
}

/** Another process made the same schema, table or migration row between our look and our statement. */
function isCreatedMeanwhile(error: unknown): boolean {
  const code = (error as { code?: string }).code;
  return code === '23505' || code === '42P07' || code === '42710' || code === '42P06';
}
