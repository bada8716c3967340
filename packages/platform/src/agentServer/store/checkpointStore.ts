import { randomBytes } from 'node:crypto';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';

import type { RunnableConfig } from '@langchain/core/runnables';
import type {
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointTuple,
  PendingWrite,
  SerializerProtocol,
} from '@langchain/langgraph-checkpoint';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import type { Pool } from 'pg';

import { UnserializableValue } from '../runs/wireJson.ts';
import { CHECKPOINT_SCHEMA, storedThreadId } from './agentDatabase.ts';
import { isDatabaseAway, throughOutage } from './databaseAway.ts';
import { type CheckpointRow, type Fence, writeCheckpoint, writePending } from './fencedWrites.ts';

/**
 * The checkpointer of every graph that an agent server serves: LangGraph's `PostgresSaver`, and what it lacks here.
 * - Threads of different deployments share the tables and never see each other: the stored thread id carries the
 *   deployment's.
 * - Every checkpoint carries the ids of the run that made it (contract 001, "Thread state": `metadata`), so that
 *   `RunFootprint` can take a run back.
 * - Channel versions are unique strings. The saver's own are counters, and it never overwrites a stored value: two
 *   branches of a thread, or a run after a rolled back one, would read each other's values.
 * - A run writes only while it is admitted here, and while its attempt is the one that counts in the database: a graph
 *   that goes on behind its end (LangGraph answers an abort at once) or in a process that was frozen while another one
 *   took the run up must not write into a thread that has moved on.
 * - A write is one statement, and is tried again while the database is away.
 */
export class CheckpointStore extends PostgresSaver {
  readonly #pool: Pool;
  readonly #deploymentId: string;
  readonly #writers = new Map<string, RunWriter>();

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
        await this.#setUpWritesBeforeRun();
        return;
      } catch (error) {
        if (attempt === 10 || !isCreatedMeanwhile(error)) throw error;
        await delay(20 * attempt);
      }
    }
  }

  async #setUpWritesBeforeRun(): Promise<void> {
    await this.#pool.query(`
      CREATE TABLE IF NOT EXISTS ${CHECKPOINT_SCHEMA}.writes_before_run (
        run_id uuid NOT NULL,
        LIKE ${CHECKPOINT_SCHEMA}.checkpoint_writes
      )`);
    await this.#pool.query(
      `CREATE INDEX IF NOT EXISTS writes_before_run_by_run ON ${CHECKPOINT_SCHEMA}.writes_before_run (run_id)`,
    );
  }

  /** Lets an attempt of a run write, until {@link fence}. One attempt of a run at a time. */
  admit(writer: RunWriter): void {
    this.#writers.set(writer.fence.runId, writer);
  }

  /** Lets a run store the steps that it has completed, and then nothing more. Resolves when no write is under way. */
  async fence(runId: string): Promise<void> {
    const writer = this.#writers.get(runId);
    while (writer !== undefined && writer.underWay.size > 0) {
      await Promise.allSettled(writer.underWay);
      // A write that was queued behind the last one starts now.
      await setImmediate();
    }
    this.#writers.delete(runId);
  }

  override getNextVersion(current: number | string | undefined): never {
    const counter = Number.parseInt(String(current ?? '0'), 10) + 1;
    // The base class is typed for counters; LangGraph compares either kind.
    return `${String(counter).padStart(16, '0')}.${randomBytes(6).toString('hex')}` as never;
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const writer = this.#writers.get(String(originOf(config)['run_id']));
    if (writer?.blank === true) return undefined;
    const read = () => super.getTuple(this.#stored(config));
    const tuple = await (writer === undefined ? read() : this.#forRun(writer, read));
    return tuple && this.#served(tuple);
  }

  override async *list(
    config: RunnableConfig,
    options?: CheckpointListOptions,
  ): AsyncGenerator<CheckpointTuple> {
    for await (const tuple of super.list(this.#stored(config), options)) yield this.#served(tuple);
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: Record<string, number | string>,
  ): Promise<RunnableConfig> {
    const { thread_id, checkpoint_ns: namespace = '', checkpoint_id: parentId } = addressOf(config);
    const { channel_values: channelValues, ...rest } = checkpoint;
    const values = await Promise.all(
      Object.entries(newVersions).map(async ([channel, version]) => {
        const place = { channel, version: String(version) };
        if (!(channel in channelValues)) return { ...place, type: 'empty', blob: undefined };
        const [type, blob] = await this.serde.dumpsTyped(channelValues[channel]);
        return { ...place, type, blob };
      }),
    );
    const row: CheckpointRow = {
      threadKey: this.#key(thread_id),
      namespace,
      checkpointId: checkpoint.id,
      parentId,
      checkpoint: rest,
      metadata: (await this._dumpMetadata({ ...originOf(config), ...metadata })) as object,
      values,
    };
    await this.#write(config, (fence) => writeCheckpoint(this.#pool, row, fence));
    return { configurable: { thread_id, checkpoint_ns: namespace, checkpoint_id: checkpoint.id } };
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const { thread_id, checkpoint_ns: namespace = '', checkpoint_id: checkpointId = '' } = addressOf(config);
    const place = { threadKey: this.#key(thread_id), namespace, checkpointId, taskId };
    await this.#write(config, (fence) => writePending(this.#pool, this.serde, place, writes, fence));
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.#pool.query(
      `WITH writes AS (DELETE FROM ${CHECKPOINT_SCHEMA}.checkpoint_writes WHERE thread_id = $1),
         blobs AS (DELETE FROM ${CHECKPOINT_SCHEMA}.checkpoint_blobs WHERE thread_id = $1),
         kept AS (DELETE FROM ${CHECKPOINT_SCHEMA}.writes_before_run WHERE thread_id = $1)
       DELETE FROM ${CHECKPOINT_SCHEMA}.checkpoints WHERE thread_id = $1`,
      [this.#key(threadId)],
    );
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

  /** A write, of a run where the configuration names one: refused without its admission, or when its fence falls. */
  async #write(config: RunnableConfig, write: (fence: Fence | undefined) => Promise<boolean>): Promise<void> {
    const runId = originOf(config)['run_id'];
    if (typeof runId !== 'string') {
      await write(undefined);
      return;
    }
    const writer = this.#writers.get(runId);
    const attempt = configurableOf(config)[ATTEMPT_KEY] ?? writer?.fence.attempt;
    if (writer === undefined || attempt !== writer.fence.attempt) {
      throw new Error(`Run ${runId} has ended here; nothing more of it is stored.`);
    }
    writer.blank = false;
    const written = this.#forRun(writer, () => write(writer.fence));
    writer.underWay.add(written);
    try {
      if (await written) return;
    } finally {
      writer.underWay.delete(written);
    }
    writer.onLost();
    throw new Error(`Run ${runId} is executed elsewhere now; nothing more of it is stored here.`);
  }

  /** Waits for a database that is away as long as the lease holds; the run is lost with it. */
  async #forRun<T>(writer: RunWriter, work: () => Promise<T>): Promise<T> {
    try {
      return await throughOutage(work, writer.holds);
    } catch (error) {
      if (isDatabaseAway(error)) writer.onLost();
      throw error;
    }
  }
}

/** An attempt of a run that may write checkpoints. */
export class RunWriter {
  readonly fence: Fence;
  /** Whether this process may still take the run for its own, as far as it knows: so long a write is worth trying. */
  readonly holds: () => boolean;
  /** Called when the database refused a write: the run is another's. */
  readonly onLost: () => void;
  /** Whether its thread has no checkpoint, so that none has to be looked for: until it writes the first one. */
  blank: boolean;
  /** The writes that have not been answered yet. */
  readonly underWay = new Set<Promise<unknown>>();

  constructor(options: { fence: Fence; holds: () => boolean; onLost: () => void; blank: boolean }) {
    this.fence = options.fence;
    this.holds = options.holds;
    this.onLost = options.onLost;
    this.blank = options.blank;
  }
}

/** Where a run's configuration tells which attempt it is; LangGraph keeps names like this out of the metadata. */
export const ATTEMPT_KEY = '__slipway_attempt';

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

function addressOf(config: RunnableConfig): {
  thread_id: string;
  checkpoint_ns?: string;
  checkpoint_id?: string;
} {
  const { thread_id, checkpoint_ns, checkpoint_id } = configurableOf(config) as Record<string, string>;
  if (thread_id === undefined) throw new Error('A checkpoint belongs to a thread, and none is named.');
  return {
    thread_id,
    ...(checkpoint_ns !== undefined && { checkpoint_ns }),
    ...(checkpoint_id !== undefined && { checkpoint_id }),
  };
}

function configurableOf(config: RunnableConfig): Record<string, unknown> {
  return (config.configurable ?? {}) as Record<string, unknown>;
}

/** Another process made the same schema, table or migration row between our look and our statement. */
function isCreatedMeanwhile(error: unknown): boolean {
  const code = (error as { code?: string }).code;
  return code === '23505' || code === '42P07' || code === '42710' || code === '42P06';
}
