import { randomBytes } from 'node:crypto';

import type { RunnableConfig } from '@langchain/core/runnables';
import {
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  INTERRUPT,
  type PendingWrite,
  RESUME,
  type SerializerProtocol,
  uuid6,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { Uuid } from '@slipway/contract/scalars';
import type { Pool } from 'pg';

import { HttpProblem } from '../../http/problem.ts';
import { UnserializableValue } from '../runs/wireJson.ts';
import { CHECKPOINT_SCHEMA, COMMAND_TASK, DELETE_THREADS, storedThreadId } from './checkpointTables.ts';
import {
  type CheckpointRows,
  type RestingState,
  whileHeld,
  whileIdle,
  whileUnchanged,
  withNewThread,
  type WriteCondition,
  writeCheckpoints,
} from './fencedWrites.ts';
import { RunWriter, type RunWriterOptions } from './runWriter.ts';
import { DRAFT_KEY, StateDraft, type StoredValue } from './stateDraft.ts';
import { threadBusy, threadNotFound } from './threadProblems.ts';

/**
 * The checkpointer of every graph: LangGraph's `PostgresSaver`, with additions:
 *
 * - Deployments share the tables, so the stored thread id includes the deployment's.
 * - Every checkpoint has the ids of the run that made it (contract 001, "Thread state": `metadata`), so that
 *   `RunFootprint` can roll a run back.
 * - Channel versions are unique strings. The saver's own are counters, and it never overwrites a stored value. Two
 *   branches of a thread, or a run after a rolled-back one, would read each other's values.
 * - An interrupt is pending only until its task has ended, and an answer only for the run that gave it.
 * - A run writes only through its {@link RunWriter}. LangGraph answers an abort at once, so a graph may continue
 *   after its run's end, or in a frozen process while another executes the run.
 */
export class CheckpointStore extends PostgresSaver {
  readonly #pool: Pool;
  readonly #deploymentId: string;
  readonly #writers = new Map<string, RunWriter>();

  constructor(pool: Pool, deploymentId: string) {
    super(pool, undefined, { schema: CHECKPOINT_SCHEMA });
    this.serde = tolerant(this.serde);
    this.#pool = pool;
    this.#deploymentId = deploymentId;
  }

  /** Lets one attempt of a run at a time write checkpoints, until {@link closeWriter}. */
  openWriter(options: RunWriterOptions): RunWriter {
    const writer = new RunWriter(options, (rows, fence) => this.#store(rows, whileHeld(fence)));
    this.#writers.set(options.fence.runId, writer);
    return writer;
  }

  /** Lets a run store its completed steps, then no more. Resolves with the first error once no write is pending. */
  async closeWriter(writer: RunWriter): Promise<unknown> {
    const failure = await writer.waitUntilSettled();
    const { runId } = writer.fence;
    // This process may have begun a further attempt meanwhile.
    if (this.#writers.get(runId) === writer) this.#writers.delete(runId);
    return failure;
  }

  /** Begins a draft. It takes what a graph writes to the thread, if it is in the configuration under {@link DRAFT_KEY}. */
  openDraft(threadId: string): StateDraft {
    const readValues = async (namespace: string, versions: readonly (readonly [string, string])[]) => {
      const { rows } = await this.#pool.query<StoredValue>(STORED_VALUES, [
        this.#key(threadId),
        namespace,
        versions.map(([channel]) => channel),
        versions.map(([, version]) => version),
      ]);
      return rows;
    };
    return new StateDraft({ threadId, serde: this.serde, readValues });
  }

  /** Stores a draft with the state that it gives its thread. Returns false if the thread has changed since that version. */
  async storeDraft(
    draft: StateDraft,
    thread: Parameters<typeof whileUnchanged>[1],
    state: RestingState,
  ): Promise<boolean> {
    return this.#store(draft, whileUnchanged(this.#deploymentId, thread, state));
  }

  /** Stores a draft, and creates its thread. Returns false if the id of the thread is taken. */
  async storeNewThread(
    draft: StateDraft,
    thread: Parameters<typeof withNewThread>[1],
    state: RestingState,
  ): Promise<boolean> {
    return this.#store(draft, withNewThread(this.#deploymentId, thread, state));
  }

  /**
   * Checks the checkpoint that a run or an update begins from, if one is named. @throws CheckpointNotFound if its thread
   * lacks it; ClockBehind if what is made from there would be older than the thread's newest one.
   */
  async requireCheckpoint(configurable: Record<string, unknown>): Promise<void> {
    const { thread_id, checkpoint_ns, checkpoint_id: id } = configurable as unknown as Configurable;
    if (id == null || id === '') return;
    const address = { thread_id, checkpoint_ns: checkpoint_ns ?? '', checkpoint_id: id };
    if ((await this.getTuple({ configurable: address })) === undefined)
      throw new CheckpointNotFound(thread_id, id);
    const newest = await this.getTuple({ configurable: { thread_id, checkpoint_ns: '' } });
    if (newest !== undefined && timeIn(uuid6(0)) < timeIn(newest.checkpoint.id))
      throw new ClockBehind(thread_id);
  }

  override getNextVersion(current: number | string | undefined): never {
    const counter = Number.parseInt(String(current ?? '0'), 10) + 1;
    // The base class is typed for counters; LangGraph compares either.
    return `${String(counter).padStart(16, '0')}.${randomBytes(6).toString('hex')}` as never;
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const draft = draftOf(config);
    if (draft !== undefined) return this.#readDraft(draft, config);
    const writer = this.#writers.get(String(runMetadata(config)['run_id']));
    const read = () => super.getTuple(this.#toStoredConfig(config));
    const tuple = await (writer === undefined ? read() : writer.read(configurableOf(config).thread_id, read));
    return tuple && this.#toClientTuple(tuple);
  }

  override async *list(
    config: RunnableConfig,
    options?: CheckpointListOptions,
  ): AsyncGenerator<CheckpointTuple> {
    for await (const tuple of super.list(this.#toStoredConfig(config), options))
      yield this.#toClientTuple(tuple);
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: Record<string, number | string>,
  ): Promise<RunnableConfig> {
    const { thread_id, checkpoint_ns: namespace = '', checkpoint_id: parentId } = configurableOf(config);
    if (parentId !== undefined && timeIn(checkpoint.id) < timeIn(parentId)) throw new ClockBehind(thread_id);
    const { channel_values: channelValues, ...rest } = checkpoint;
    const values = await Promise.all(
      Object.entries(newVersions).map(async ([channel, version]) => {
        const place = { namespace, channel, version: String(version) };
        if (!(channel in channelValues)) return { ...place, type: 'empty', blob: undefined };
        const [type, blob] = await this.serde.dumpsTyped(channelValues[channel]);
        return { ...place, type, blob };
      }),
    );
    const row = {
      namespace,
      id: checkpoint.id,
      parentId,
      checkpoint: rest,
      metadata: (await this._dumpMetadata({ ...runMetadata(config), ...metadata })) as object,
      isInput: metadata.source === 'input',
    };
    await this.#write(config, { threadId: thread_id, checkpoints: [row], values, writes: [] });
    const address = { thread_id, checkpoint_ns: namespace, checkpoint_id: checkpoint.id };
    return withDraft({ configurable: address }, draftOf(config));
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const {
      thread_id: threadId,
      checkpoint_ns: namespace = '',
      checkpoint_id: checkpointId = '',
    } = configurableOf(config);
    // Writes of LangGraph itself (an error, an interrupt, an answer) and of commands are replaced; a node's writes stay.
    const replaces = taskId === COMMAND_TASK || writes.every(([channel]) => channel in WRITES_IDX_MAP);
    const rows = await Promise.all(
      writes.map(async ([channel, value], position) => {
        const [type, blob] = await this.serde.dumpsTyped(value);
        const index = WRITES_IDX_MAP[channel] ?? position;
        return { namespace, checkpointId, taskId, index, channel, type, blob, replaces };
      }),
    );
    await this.#write(config, { threadId, checkpoints: [], values: [], writes: rows });
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.#pool.query(DELETE_THREADS, [[this.#key(threadId)]]);
  }

  #key(threadId: string): string {
    return storedThreadId(this.#deploymentId, threadId);
  }

  #toStoredConfig(config: RunnableConfig): RunnableConfig {
    return withThreadId(config, (threadId) => this.#key(threadId));
  }

  #toClientTuple(tuple: CheckpointTuple): CheckpointTuple {
    const served = (config: RunnableConfig) =>
      withThreadId(config, (threadId) => threadId.slice(this.#key('').length));
    return {
      ...tuple,
      ...(tuple.pendingWrites && { pendingWrites: withoutAnswered(tuple.pendingWrites) }),
      config: served(tuple.config),
      ...(tuple.parentConfig && { parentConfig: served(tuple.parentConfig) }),
    };
  }

  /** A checkpoint of a drafted thread. Its configurations lead LangGraph to the draft again. */
  async #readDraft(draft: StateDraft, config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { checkpoint_ns: namespace = '', checkpoint_id: id } = configurableOf(config);
    const stored = async () => {
      const tuple = await super.getTuple(this.#toStoredConfig(config));
      return tuple && this.#toClientTuple(tuple);
    };
    const tuple = (await draft.find(namespace, id)) ?? (await stored());
    if (tuple === undefined) return undefined;
    const written = await draft.writesTo(namespace, tuple.checkpoint.id);
    return {
      ...tuple,
      pendingWrites: [...(tuple.pendingWrites ?? []), ...written],
      config: withDraft(tuple.config, draft),
      ...(tuple.parentConfig && { parentConfig: withDraft(tuple.parentConfig, draft) }),
    };
  }

  #store(rows: CheckpointRows, condition: WriteCondition): Promise<boolean> {
    return writeCheckpoints(this.#pool, this.#key(rows.threadId), rows, condition);
  }

  /**
   * Stores a write. A run's write is refused unless that attempt of the run is admitted, and any other write while a
   * run is active on the thread.
   * @throws HttpProblem 404, 409
   */
  async #write(config: RunnableConfig, rows: CheckpointRows): Promise<void> {
    const draft = draftOf(config);
    if (draft !== undefined) {
      draft.add(rows);
      return;
    }
    const runId = runMetadata(config)['run_id'];
    if (typeof runId !== 'string') {
      // A graph may give any text as the id of a thread.
      if (Uuid.safeParse(rows.threadId).data !== rows.threadId) throw threadNotFound(rows.threadId);
      if (await this.#store(rows, whileIdle(this.#deploymentId, rows.threadId))) return;
      const { rowCount } = await this.#pool.query(
        'SELECT 1 FROM slipway_agent.threads WHERE deployment_id = $1 AND thread_id = $2',
        [this.#deploymentId, rows.threadId],
      );
      throw rowCount === 0 ? threadNotFound(rows.threadId) : threadBusy(rows.threadId);
    }
    const writer = this.#writers.get(runId);
    const attempt = configurableOf(config)[ATTEMPT_KEY] ?? writer?.fence.attempt;
    if (writer === undefined || attempt !== writer.fence.attempt) throw new RunEndedHere(runId);
    await writer.store(rows);
  }
}

/** A graph that continues after its run's end wants to store a checkpoint. LangGraph leaves some of these unhandled. */
export class RunEndedHere extends Error {
  constructor(runId: string) {
    super(`Run ${runId} has ended here; nothing more of it is stored.`);
    this.name = 'RunEndedHere';
  }
}

/** 404 for a checkpoint that a thread lacks. LangGraph would begin with an empty state instead. */
export class CheckpointNotFound extends HttpProblem {
  override readonly name = 'CheckpointNotFound';

  constructor(threadId: string, checkpointId: string) {
    super(404, `Thread ${threadId} has no checkpoint ${checkpointId}.`);
  }
}

/**
 * LangGraph's ids of checkpoints begin with the time, and the greatest is a thread's state: an earlier one than its parent
 * would be stored without effect. The run fails instead, and an update of the state gets a 503.
 */
class ClockBehind extends HttpProblem {
  override readonly name = 'ClockBehind';

  constructor(threadId: string) {
    super(
      503,
      `The clock of this agent is behind the newest state of thread ${threadId}, so that nothing newer can be stored. Correct the clock, or try again later.`,
      { headers: { 'retry-after': '1' } },
    );
  }
}

/** The time in an id of a checkpoint (a version 6 uuid), as text. */
function timeIn(checkpointId: string): string {
  return checkpointId.slice(0, 18);
}

/** The values of a thread's channels at given versions. */
const STORED_VALUES = `
  SELECT channel, type, blob FROM ${CHECKPOINT_SCHEMA}.checkpoint_blobs
  JOIN unnest($3::text[], $4::text[]) AS wanted (channel, version) USING (channel, version)
  WHERE thread_id = $1 AND checkpoint_ns = $2`;

/** The draft in a configuration, if it is one of this thread. */
function draftOf(config: RunnableConfig): StateDraft | undefined {
  const { thread_id: threadId, [DRAFT_KEY]: draft } = configurableOf(config);
  return draft instanceof StateDraft && draft.threadId === threadId ? draft : undefined;
}

function withDraft(config: RunnableConfig, draft: StateDraft | undefined): RunnableConfig {
  if (draft === undefined) return config;
  return { ...config, configurable: { ...config.configurable, [DRAFT_KEY]: draft } };
}

/** The configuration key of a run's attempt. LangGraph keeps names like this out of the metadata. */
export const ATTEMPT_KEY = '__slipway_attempt';

/**
 * The serializer, for values that clients and graphs choose:
 *
 * - A write of a value without JSON (a function, a symbol) fails, and with it the run, with the error's name. Otherwise
 *   the value would be stored as no bytes, and the thread could never be read again.
 * - JSON that only looks like a serialized LangChain object (`{lc: 1, type: "constructor", …}`) stays JSON.
 */
function tolerant(serde: SerializerProtocol): SerializerProtocol {
  return {
    loadsTyped: async (type, data) =>
      (serde.loadsTyped(type, data) as Promise<unknown>).catch((error: unknown) => {
        if (type !== 'json') throw error;
        return JSON.parse(typeof data === 'string' ? data : new TextDecoder().decode(data)) as unknown;
      }),
    dumpsTyped: async (value) => {
      const [type, data] = await serde.dumpsTyped(value);
      if (type === 'json' && data.byteLength === 0)
        throw new UnserializableValue('A value of the state', `a ${typeof value}`);
      return [type, data];
    },
  };
}

/**
 * Writes without the interrupts of tasks that have ended: LangGraph keeps those until the other tasks of the step have.
 * And without the answer for whatever is asked, once a task has asked: it belongs to the run that gave it, and LangGraph
 * would give it again to the next question of a run without an answer.
 */
function withoutAnswered(writes: CheckpointPendingWrite[]): CheckpointPendingWrite[] {
  const ended = new Set(
    writes.filter(([, channel]) => !(channel in WRITES_IDX_MAP)).map(([taskId]) => taskId),
  );
  const hasAsked = writes.some(
    ([taskId, channel]) => channel === INTERRUPT || (channel === RESUME && taskId !== COMMAND_TASK),
  );
  return writes.filter(
    ([taskId, channel]) =>
      !(channel === INTERRUPT && ended.has(taskId)) &&
      !(channel === RESUME && taskId === COMMAND_TASK && hasAsked),
  );
}

/** The run's metadata that its checkpoints keep (contract 001, "Thread state"), without LangGraph's own notes. */
function runMetadata(config: RunnableConfig): Record<string, unknown> {
  const kept = Object.entries(config.metadata ?? {}).filter(
    ([name, value]) =>
      !/^(langgraph_|ls_|lc_|__|checkpoint_)/.test(name) &&
      value !== undefined &&
      typeof value !== 'function' &&
      typeof value !== 'symbol',
  );
  return Object.fromEntries(kept);
}

interface Configurable extends Record<string, unknown> {
  thread_id: string;
  checkpoint_ns?: string;
  checkpoint_id?: string;
}

function configurableOf(config: RunnableConfig): Configurable {
  return (config.configurable ?? {}) as Configurable;
}

function withThreadId(config: RunnableConfig, rename: (threadId: string) => string): RunnableConfig {
  const configurable = configurableOf(config);
  return { ...config, configurable: { ...configurable, thread_id: rename(configurable.thread_id) } };
}
