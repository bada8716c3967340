import { INTERRUPT, START } from '@langchain/langgraph';

import { HttpProblem, invalid } from '../../http/problem.ts';
import { toWireJson } from '../runs/wireJson.ts';
import { CheckpointNotFound, type CheckpointStore } from '../store/checkpointStore.ts';
import type { RestingState } from '../store/fencedWrites.ts';
import { DRAFT_KEY, type StateDraft } from '../store/stateDraft.ts';
import { threadBusy } from '../store/threadProblems.ts';
import type { NewThread, ThreadRecord, ThreadStore } from '../store/threadStore.ts';
import type { Assistants } from './assistants.ts';
import { addressOf, type CompiledGraph, type GraphConfigLike, type StateSnapshot } from './compiledGraph.ts';
import { resolveForInspection } from './graphLoader.ts';

/** A place in a thread. Without `checkpoint_id`: the newest. */
export interface StateAddress {
  readonly checkpoint_id?: string | null;
  readonly checkpoint_ns?: string | null;
}

/** What to write to a thread's state. */
interface StateChange extends StateAddress {
  readonly values: unknown;
  readonly asNode: string | undefined;
}

/** A thread's states (contract 001, "Thread state"): reading, history, and manual updates. */
export class ThreadStates {
  readonly #threads: ThreadStore;
  readonly #assistants: Assistants;
  readonly #checkpoints: CheckpointStore;
  /** The last update of each thread that is being updated. */
  readonly #updates = new Map<string, Promise<unknown>>();

  constructor(threads: ThreadStore, assistants: Assistants, checkpoints: CheckpointStore) {
    this.#threads = threads;
    this.#assistants = assistants;
    this.#checkpoints = checkpoints;
  }

  /**
   * JSON text: the thread's state; empty before the first run.
   * @throws HttpProblem 404 for an unknown thread or checkpoint.
   */
  async get(threadId: string, address: StateAddress, subgraphs: boolean): Promise<string> {
    const thread = await this.#threads.get(threadId);
    const graph = await this.#graphOf(thread);
    const snapshot = await graph?.getState(configOf(threadId, address), { subgraphs });
    if (graph === undefined || snapshot?.createdAt === undefined) {
      if (address.checkpoint_id == null) return JSON.stringify(emptyState(threadId));
      throw new CheckpointNotFound(threadId, address.checkpoint_id);
    }
    const parent =
      snapshot.parentConfig === undefined ? undefined : await graph.getState(snapshot.parentConfig);
    return encode(wireState(snapshot, parent));
  }

  /** JSON text: the thread's states, newest first. @throws HttpProblem 404 */
  async history(
    threadId: string,
    options: StateAddress & { limit: number; before?: string; metadata?: Record<string, unknown> },
  ): Promise<string> {
    const thread = await this.#threads.get(threadId);
    const graph = await this.#graphOf(thread);
    if (graph === undefined) return '[]';
    const snapshots: StateSnapshot[] = [];
    const filtered = options.metadata !== undefined && Object.keys(options.metadata).length > 0;
    const listing = graph.getStateHistory(configOf(threadId, options), {
      limit: options.limit,
      ...(options.before !== undefined && { before: configOf(threadId, { checkpoint_id: options.before }) }),
      ...(filtered && { filter: options.metadata }),
    });
    for await (const snapshot of listing) snapshots.push(snapshot);
    const byId = new Map(snapshots.map((snapshot) => [checkpointIdOf(snapshot.config), snapshot]));
    const states = snapshots.map(async (snapshot) => {
      // A state's writes are in its parent, which may be on another page, or may not match the filter.
      const { parentConfig } = snapshot;
      const parent = byId.get(checkpointIdOf(parentConfig)) ?? (parentConfig && graph.getState(parentConfig));
      return wireState(snapshot, await parent);
    });
    return encode(await Promise.all(states));
  }

  /**
   * Writes to a thread's state as the node `asNode` would. Returns the address of the new state. Updates of a thread
   * follow one another, because each makes its state of the newest one.
   * @throws HttpProblem 404 (also for an unknown checkpoint, or a namespace without a subgraph), 409 while a run is
   * active, 422 if the graph rejects the update, 503 if the clock is behind.
   */
  async update(threadId: string, update: StateChange): Promise<Record<string, unknown>> {
    const earlier = this.#updates.get(threadId)?.catch(() => undefined);
    const own = Promise.resolve(earlier).then(() => this.#update(threadId, update));
    this.#updates.set(threadId, own);
    try {
      return await own;
    } finally {
      if (this.#updates.get(threadId) === own) this.#updates.delete(threadId);
    }
  }

  async #update(threadId: string, update: StateChange): Promise<Record<string, unknown>> {
    for (;;) {
      const thread = await this.#threads.get(threadId);
      if (thread.status === 'busy') throw threadBusy(threadId);
      const graph = await this.#graphOf(thread);
      if (graph === undefined) {
        throw new HttpProblem(
          409,
          `Thread ${threadId} is not tied to a graph yet: run one, or set metadata.graph_id.`,
        );
      }
      const draft = this.#checkpoints.openDraft(threadId);
      const config = configOf(threadId, update);
      const { next } = await translateUpdateError(graph.getState(config));
      await this.#checkpoints.requireCheckpoint(config.configurable ?? {});
      // Before the first node of a thread, LangGraph fails to infer one.
      const asNode = update.asNode ?? next.find((node) => node === START);
      if (asNode === undefined) await this.#requireLastNode(config);
      const drafting = drafted(config, draft, thread);
      const updated = await translateUpdateError(graph.updateState(drafting, update.values, asNode));
      const state = await this.#restingStateOf(graph, draft);
      // Another process may have changed the thread meanwhile.
      if (!(await this.#checkpoints.storeDraft(draft, thread, state))) continue;
      const checkpoint = addressOf(updated);
      return { checkpoint, configurable: checkpoint, checkpoint_id: checkpoint?.['checkpoint_id'] ?? null };
    }
  }

  /**
   * Without `as_node`, LangGraph takes the last node that ran. If none did before a run was interrupted, it fails with a
   * TypeError. @throws HttpProblem 422
   */
  async #requireLastNode(config: GraphConfigLike): Promise<void> {
    const { [INTERRUPT]: interrupted = {}, ...nodes } =
      (await this.#checkpoints.getTuple(config))?.checkpoint.versions_seen ?? {};
    const hasRun = Object.values(nodes).some((seen) => Object.keys(seen).length > 0);
    if (hasRun || Object.keys(interrupted).length === 0) return;
    throw invalid([{ loc: ['body', 'as_node'], msg: 'Field required: no node ran yet', type: 'missing' }]);
  }

  /**
   * Creates a thread with its first states, one per superstep: all at once, or nothing. If the id exists, `ifExists`
   * decides, and no state is made.
   * @throws HttpProblem 409 as {@link ThreadStore.create}, 422 if the thread names no graph, or its graph rejects the
   * updates.
   */
  async createThread(
    created: NewThread,
    supersteps: readonly { updates: readonly { values?: unknown; as_node: string }[] }[],
  ): Promise<ThreadRecord> {
    const { threadId, metadata } = created;
    if (!(await this.#threads.versions([threadId])).has(threadId)) {
      const thread = { thread_id: threadId, metadata, config: {} };
      const graph = await this.#graphOf(thread);
      if (graph === undefined)
        throw invalid([
          { loc: ['body', 'metadata', 'graph_id'], msg: 'Required by supersteps', type: 'missing' },
        ]);
      const draft = this.#checkpoints.openDraft(threadId);
      let config = configOf(threadId, {});
      for (const { updates } of supersteps) {
        const step = { updates: updates.map(({ values, as_node: asNode }) => ({ values, asNode })) };
        // Of several steps, LangGraph gives only the first one the metadata.
        config = await translateUpdateError(graph.bulkUpdateState(drafted(config, draft, thread), [step]));
      }
      const state = await this.#restingStateOf(graph, draft);
      if (await this.#checkpoints.storeNewThread(draft, thread, state)) return this.#threads.get(threadId);
    }
    return this.#threads.getExisting(created);
  }

  /**
   * A thread's newest state, and the thread's version before it was read. No state if no graph is known that keeps one.
   * @throws HttpProblem 404, 409
   */
  async newestOf(threadId: string): Promise<{ snapshot: StateSnapshot | undefined; version: string }> {
    const thread = await this.#threads.get(threadId);
    const graph = await this.#graphOf(thread);
    const snapshot = await graph?.getState({ configurable: { thread_id: threadId } });
    return { snapshot, version: thread.version };
  }

  /** Gives a thread's record the state of its newest checkpoint, unless a run is active. @throws HttpProblem 404, 409 */
  async refresh(threadId: string): Promise<void> {
    for (let isStored = false; !isStored;) {
      const thread = await this.#threads.get(threadId);
      const graph = await this.#graphOf(thread);
      if (thread.status === 'busy' || graph === undefined) return;
      const unchanged = this.#checkpoints.openDraft(threadId);
      const state = await this.#restingStateOf(graph, unchanged);
      isStored = await this.#checkpoints.storeDraft(unchanged, thread, state);
    }
  }

  async #restingStateOf(graph: CompiledGraph, draft: StateDraft): Promise<RestingState> {
    const { threadId } = draft;
    return restingStateOf(
      await graph.getState({ configurable: { thread_id: threadId, [DRAFT_KEY]: draft } }),
    );
  }

  /** The thread's graph, or the agent's only one. */
  async #graphOf(
    thread: Pick<ThreadRecord, 'thread_id' | 'metadata' | 'config'>,
  ): Promise<CompiledGraph | undefined> {
    const name = thread.metadata['graph_id'];
    const loaded = typeof name === 'string' ? this.#assistants.getGraph(name) : this.#assistants.onlyGraph;
    if (loaded === undefined) return undefined;
    const configurable = thread.config['configurable'] as Record<string, unknown> | undefined;
    const graph = await resolveForInspection(loaded, {
      ...thread.config,
      configurable: { ...configurable, thread_id: thread.thread_id, graph_id: loaded.name },
    });
    return graph.checkpointer === false ? undefined : graph;
  }
}

function encode(value: unknown): string {
  return toWireJson(value, { strict: false, root: 'state' });
}

function emptyState(threadId: string): Record<string, unknown> {
  return {
    values: {},
    next: [],
    tasks: [],
    metadata: {},
    created_at: null,
    checkpoint: { thread_id: threadId, checkpoint_ns: '', checkpoint_id: null },
    parent_checkpoint: null,
    checkpoint_id: null,
    parent_checkpoint_id: null,
    interrupts: [],
  };
}

function wireState(snapshot: StateSnapshot, parent: StateSnapshot | undefined): Record<string, unknown> {
  return {
    // Null before an entrypoint's first end.
    values: snapshot.values ?? {},
    next: snapshot.next,
    tasks: snapshot.tasks.map(wireTask),
    metadata: { ...snapshot.metadata, writes: writesOf(snapshot, parent) },
    created_at: snapshot.createdAt ?? null,
    checkpoint: addressOf(snapshot.config),
    parent_checkpoint: addressOf(snapshot.parentConfig),
    checkpoint_id: checkpointIdOf(snapshot.config) ?? null,
    parent_checkpoint_id: checkpointIdOf(snapshot.parentConfig) ?? null,
    interrupts: snapshot.tasks.flatMap((task) => task.interrupts),
  };
}

function wireTask(task: StateSnapshot['tasks'][number]): Record<string, unknown> {
  const { state } = task;
  const nested = state !== undefined && 'values' in state;
  return {
    id: task.id,
    name: task.name,
    path: task.path ?? [],
    error: task.error === undefined ? null : ((task.error as { message?: string }).message ?? task.error),
    interrupts: task.interrupts,
    checkpoint: nested || state === undefined ? null : addressOf(state),
    state: nested ? wireState(state, undefined) : null,
    result: task.result ?? null,
  };
}

/**
 * What each node wrote to make this state (contract 001, "Thread state"): stored in the parent state's tasks. Null for an
 * input, a fork or an update: what the nodes after the parent state wrote may have made another state.
 */
function writesOf(
  snapshot: StateSnapshot,
  parent: StateSnapshot | undefined,
): Record<string, unknown> | null {
  if (parent === undefined || snapshot.metadata?.['source'] !== 'loop') return null;
  const writes: Record<string, unknown> = {};
  for (const task of parent.tasks) {
    if (task.result === undefined) continue;
    // A node may run several times in one step, and then wrote several times.
    writes[task.name] = task.name in writes ? [writes[task.name], task.result].flat() : task.result;
  }
  return Object.keys(writes).length > 0 ? writes : null;
}

function configOf(threadId: string, address: StateAddress): GraphConfigLike {
  return {
    configurable: {
      thread_id: threadId,
      ...(address.checkpoint_ns != null && { checkpoint_ns: address.checkpoint_ns }),
      ...(address.checkpoint_id != null && { checkpoint_id: address.checkpoint_id }),
    },
  };
}

/** The configuration with which a graph changes a thread's draft. Its checkpoints name the graph. */
function drafted(
  config: GraphConfigLike,
  draft: StateDraft,
  { metadata }: Pick<ThreadRecord, 'metadata'>,
): GraphConfigLike {
  return {
    configurable: { ...config.configurable, [DRAFT_KEY]: draft },
    metadata: { graph_id: metadata['graph_id'] },
  };
}

function checkpointIdOf(config: GraphConfigLike | undefined): string | undefined {
  const id = config?.configurable?.['checkpoint_id'];
  return typeof id === 'string' ? id : undefined;
}

/**
 * An update that the graph rejects is the caller's mistake. @throws HttpProblem 422, 404 for a namespace without a
 * subgraph
 */
async function translateUpdateError<T>(update: Promise<T>): Promise<T> {
  try {
    return await update;
  } catch (error) {
    if (isMissingSubgraph(error)) throw new HttpProblem(404, `${error.message}.`, { cause: error });
    if (!isInvalidUpdate(error)) throw error;
    throw new HttpProblem(422, [{ loc: ['body'], msg: error.message, type: 'value_error' }], {
      cause: error,
    });
  }
}

/** LangGraph has no class for this error. */
function isMissingSubgraph(error: unknown): error is Error {
  return error instanceof Error && /^Subgraph ".*" not found$/s.test(error.message);
}

/** LangGraph's own refusals of an update. Compares names, because the agent's copy of LangGraph throws them. */
function isInvalidUpdate(error: unknown): error is Error {
  return (
    error instanceof Error &&
    (['InvalidUpdateError', 'GraphValueError', 'EmptyInputError'].includes(error.name) ||
      ('lc_error_code' in error && error.lc_error_code === 'MESSAGE_COERCION_FAILURE'))
  );
}

/** A thread's values: null without a checkpoint, as at creation. */
export function valuesOf({ createdAt, values }: StateSnapshot): unknown {
  return createdAt === undefined ? null : values;
}

/** JSON text: a thread's `interrupts`, by task. */
export function interruptsByTask(snapshot: StateSnapshot | undefined): string {
  const waiting = (snapshot?.tasks ?? []).filter((task) => task.interrupts.length > 0);
  const byTask = Object.fromEntries(waiting.map((task) => [task.id, task.interrupts]));
  return toWireJson(byTask, { strict: false, root: 'interrupts' });
}

function restingStateOf(snapshot: StateSnapshot): RestingState {
  return {
    values: toWireJson(valuesOf(snapshot), { strict: false, root: 'values' }),
    interrupts: interruptsByTask(snapshot),
    status: restingStatus(snapshot),
  };
}

/** The status of a thread without an active run. (`next` lacks a node that waits for the second of its answers.) */
export function restingStatus(snapshot: StateSnapshot | undefined): 'interrupted' | 'idle' {
  return (snapshot?.tasks.length ?? 0) > 0 ? 'interrupted' : 'idle';
}
