import { Command, Send } from '@langchain/langgraph';
import { type Logger } from 'pino';

import { type Assistants } from '../graphs/assistants.ts';
import { type CompiledGraph, type StateSnapshot } from '../graphs/compiledGraph.ts';
import { executeGraph, type ExecutionEvent, type ExecutionResult } from '../graphs/graphExecution.ts';
import { type RunFailure } from '../store/agentDatabase.ts';
import { ATTEMPT_KEY, type CheckpointStore, RunWriter } from '../store/checkpointStore.ts';
import { isDatabaseAway, throughOutage } from '../store/databaseAway.ts';
import { type EventStore, type StreamEvent } from '../store/eventStore.ts';
import { type RunFootprint } from '../store/runFootprint.ts';
import { type RunRecord, type ThreadOutcome } from '../store/runStore.ts';
import { EventLog } from './eventLog.ts';
import { type LiveRun, type RunEnding } from './liveRun.ts';
import { type Kwargs } from './newRun.ts';
import { type Entry, entryOf } from './resumption.ts';
import { toWireJson } from './wireJson.ts';

/** How long a stopped graph may take to come to rest before it is left behind, in milliseconds. */
export const STOP_GRACE_MS = 2_000;

/** What a run's end means for the run and for its thread. */
export interface ExecutionOutcome {
  readonly ending: RunEnding;
  /** `undefined` for a stateless run. */
  readonly thread: ThreadOutcome | undefined;
  /** What the graph came to, where it did. */
  readonly result: ExecutionResult | undefined;
}

/** Executes runs: gives the graph its configuration and checkpointer, publishes its events, judges how it ended. */
export class RunExecution {
  readonly #assistants: Assistants;
  readonly #checkpoints: CheckpointStore;
  readonly #footprint: RunFootprint;
  readonly #events: EventStore;
  readonly #lease: { readonly holds: boolean };
  readonly #log: Logger;

  constructor(options: {
    assistants: Assistants;
    checkpoints: CheckpointStore;
    footprint: RunFootprint;
    events: EventStore;
    lease: { readonly holds: boolean };
    log: Logger;
  }) {
    this.#assistants = options.assistants;
    this.#checkpoints = options.checkpoints;
    this.#footprint = options.footprint;
    this.#events = options.events;
    this.#lease = options.lease;
    this.#log = options.log;
  }

  /**
   * Executes a run that has begun, to its end. Whatever the graph does is an ending. A run that was stopped ends by its
   * reason, and what is left of it can store nothing more.
   * @throws what a database that cannot be reached for longer than the lease says.
   */
  async execute(live: LiveRun): Promise<ExecutionOutcome> {
    const kwargs = live.record.kwargs as Kwargs;
    const timer = this.#startTimeout(live, kwargs.timeout);
    const { run_id: runId, attempt, owner } = live.record;
    const hold = {
      fence: { runId, attempt, owner },
      holds: () => this.#lease.holds,
      onLost: () => live.stop('lost'),
    };
    this.#checkpoints.admit(new RunWriter(hold));
    let result: ExecutionResult | undefined;
    let failure: RunFailure | undefined;
    try {
      if (live.resumable) {
        const deliver = ({ id, event, data }: StreamEvent) => live.channel.publish(event, data, id);
        live.log = await EventLog.open({ ...hold, store: this.#events, deliver });
      }
      const graph = await this.graphFor(kwargs);
      const entry = await this.#entryOf(live, kwargs, graph);
      if (entry !== 'over')
        result = await this.#follow(live, executeGraph(requestFor(live, kwargs, graph, entry)));
    } catch (error) {
      // After a stop, whatever is thrown is the stop's echo.
      if (live.stopReason === undefined) failure = failureOf(error);
      // The graph may be going on behind the error: it is told to stop.
      live.release();
    } finally {
      clearTimeout(timer);
      await live.published();
      await this.#checkpoints.fence(runId);
    }
    return this.outcome(live, failure, result);
  }

  /** The ending of a run, and how it leaves its thread: read from the thread's newest checkpoint. */
  async outcome(
    live: LiveRun,
    failure: RunFailure | undefined,
    result?: ExecutionResult,
  ): Promise<ExecutionOutcome> {
    let told = failure ?? stoppedFailure(live);
    if (live.isLeaving) {
      return {
        ending: { status: statusOf(live, told), values: 'null', failure: told },
        thread: undefined,
        result,
      };
    }
    let snapshot: StateSnapshot | undefined;
    let values = 'null';
    try {
      if (!live.stateless || result === undefined) {
        snapshot = await this.#patiently(live, () => this.#snapshot(live));
      }
      const shown =
        snapshot === undefined
          ? withInterrupts(result?.values ?? {}, result?.interrupts ?? [])
          : shownValues(snapshot);
      values = toWireJson(shown, { strict: true, root: 'values' });
    } catch (error) {
      if (isDatabaseAway(error)) throw error;
      this.#log.warn({ err: error, runId: live.runId }, 'the state after a run could not be read');
      told ??= failureOf(error);
    }
    const ending: RunEnding = { status: statusOf(live, told), values, failure: told };
    return { ending, thread: live.stateless ? undefined : threadOutcome(ending, snapshot), result };
  }

  /**
   * The compiled graph of a run, with our checkpointer (unless its author wants nothing stored).
   * @throws GraphNotServed where another revision accepted the run, and this one does not have its graph.
   */
  async graphFor(kwargs: Pick<Kwargs, 'config'>): Promise<CompiledGraph> {
    const name = String(kwargs.config.configurable['graph_id']);
    const loaded = this.#assistants.find(name);
    if (loaded === undefined) throw new GraphNotServed(name);
    return withCheckpointer(await loaded.resolve(kwargs.config), this.#checkpoints);
  }

  async #entryOf(live: LiveRun, kwargs: Kwargs, graph: CompiledGraph): Promise<Entry> {
    const stores = { checkpoints: this.#checkpoints, footprint: this.#footprint };
    return this.#patiently(live, () => entryOf(live, kwargs, graph, stores));
  }

  /** Waits for a database that is away as long as the lease holds; the run is lost with it. */
  async #patiently<T>(live: LiveRun, work: () => Promise<T>): Promise<T> {
    try {
      return await throughOutage(work, () => this.#lease.holds);
    } catch (error) {
      if (isDatabaseAway(error)) live.stop('lost');
      throw error;
    }
  }

  /** JSON text: the values that an ended run left, read from its own last checkpoint. */
  async storedValues(record: RunRecord): Promise<string> {
    const graph = await this.graphFor(record.kwargs as Kwargs);
    if (graph.checkpointer === false) return 'null';
    const thread = { thread_id: record.thread_id, checkpoint_ns: '' };
    let configurable: Record<string, unknown> = { thread_id: record.thread_id };
    const filter = { run_id: record.run_id };
    for await (const tuple of this.#checkpoints.list({ configurable: thread }, { filter, limit: 1 })) {
      configurable = { ...thread, checkpoint_id: tuple.checkpoint.id };
    }
    return toWireJson(shownValues(await graph.getState({ configurable })), { strict: false, root: 'values' });
  }

  async #snapshot(live: LiveRun): Promise<StateSnapshot | undefined> {
    const graph = await this.graphFor(live.record.kwargs as Kwargs);
    if (graph.checkpointer === false) return undefined;
    return graph.getState({ configurable: { thread_id: live.threadId } });
  }

  /** Publishes an execution's events. Once the run is stopped, the graph gets a moment and is then left behind. */
  async #follow(
    live: LiveRun,
    events: AsyncGenerator<ExecutionEvent, ExecutionResult>,
  ): Promise<ExecutionResult> {
    const patience = graceAfter(live.signal);
    try {
      for (;;) {
        const step = await patience.within(events.next());
        if (step === undefined)
          throw new Error('The stopped graph did not come to rest and was left behind.');
        if (step.done === true) return step.value;
        if (live.stopReason === undefined) live.publish(step.value.event, step.value.data);
        await live.room();
      }
    } finally {
      patience.clear();
    }
  }

  /** Decision: each attempt has the whole of the time; attempts are bounded themselves. */
  #startTimeout(live: LiveRun, seconds: number | null): NodeJS.Timeout | undefined {
    if (seconds === null) return undefined;
    return setTimeout(() => live.stop('timeout'), seconds * 1_000);
  }
}

/** The revision that took a run up does not have the run's graph; the run ends with this. */
class GraphNotServed extends Error {
  constructor(name: string) {
    super(`This revision serves no graph named ${name}, which the run was made for.`);
    this.name = 'GraphNotServed';
  }
}

/** Gives a graph our checkpointer, unless its author said `checkpointer: false`. */
export function withCheckpointer(graph: CompiledGraph, checkpoints: CheckpointStore): CompiledGraph {
  if (graph.checkpointer !== false && graph.checkpointer !== checkpoints) graph.checkpointer = checkpoints;
  return graph;
}

/** The interrupts that a state waits on, in the order of its tasks. */
function pendingInterrupts(snapshot: StateSnapshot): unknown[] {
  return snapshot.tasks.flatMap((task) => task.interrupts ?? []);
}

/** What `wait` and `join` answer of a state: its values, and what it waits on. */
function shownValues(snapshot: StateSnapshot): unknown {
  return withInterrupts(snapshot.values as Record<string, unknown>, pendingInterrupts(snapshot));
}

function withInterrupts(values: Record<string, unknown>, interrupts: unknown[]): unknown {
  return interrupts.length > 0 ? { ...values, __interrupt__: interrupts } : values;
}

/** JSON text: a thread's `interrupts`, by task. */
export function interruptsByTask(snapshot: StateSnapshot | undefined): string {
  const waiting = (snapshot?.tasks ?? []).filter((task) => (task.interrupts ?? []).length > 0);
  const byTask = Object.fromEntries(waiting.map((task) => [task.id, task.interrupts]));
  return toWireJson(byTask, { strict: false, root: 'interrupts' });
}

function requestFor(live: LiveRun, kwargs: Kwargs, graph: CompiledGraph, entry: Exclude<Entry, 'over'>) {
  const { metadata, configurable, tags, recursion_limit: recursionLimit, ...rest } = kwargs.config;
  const { checkpoint_id: checkpointId, checkpoint_map: checkpointMap, ...addressed } = configurable;
  // A resumed run goes on from its own newest checkpoint, wherever it had branched off.
  const branch = entry === 'resume' ? {} : { checkpoint_id: checkpointId, checkpoint_map: checkpointMap };
  const input = kwargs.command === null ? kwargs.input : toCommand(kwargs.command);
  const origin = {
    user_id: addressed['user_id'],
    run_id: live.runId,
    graph_id: addressed['graph_id'],
    thread_id: live.threadId,
    assistant_id: addressed['assistant_id'],
  };
  return {
    graph,
    input: entry === 'resume' ? null : input,
    streamModes: kwargs.stream_mode,
    subgraphs: kwargs.subgraphs,
    options: {
      ...rest,
      // LangGraph takes the mere presence of a checkpoint id, null included, as a wish to replay from there.
      configurable: { ...addressed, ...withoutNulls(branch), [ATTEMPT_KEY]: live.record.attempt },
      metadata: { ...metadata, ...origin },
      runId: live.runId,
      signal: live.signal,
      ...(tags != null && { tags }),
      ...(recursionLimit != null && { recursionLimit }),
      ...(kwargs.context !== null && { context: kwargs.context }),
      ...(kwargs.interrupt_before !== null && { interruptBefore: kwargs.interrupt_before }),
      ...(kwargs.interrupt_after !== null && { interruptAfter: kwargs.interrupt_after }),
      // Decision: a step is stored before the next one begins, unless the request says otherwise. What was stored is
      // what a killed run does not do again; the price is one statement's time per step.
      durability: kwargs.durability ?? 'sync',
    },
  };
}

function withoutNulls(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value != null));
}

function toCommand(command: NonNullable<Kwargs['command']>): Command {
  const { update, resume, goto } = command;
  const steps = goto == null ? [] : Array.isArray(goto) ? goto : [goto];
  return new Command({
    ...(update != null && { update: update }),
    ...(resume !== undefined && resume !== null && { resume }),
    ...(steps.length > 0 && {
      goto: steps.map((step) => (typeof step === 'string' ? step : new Send(step.node, step.input))),
    }),
  });
}

function statusOf(live: LiveRun, failure: RunFailure | undefined): RunEnding['status'] {
  switch (live.stopReason) {
    case 'interrupt':
      return 'interrupted';
    case 'rollback':
      return 'rolled_back';
    case 'timeout':
      return 'timeout';
    case 'handover':
      return 'handed_over';
    case 'lost':
      return 'lost';
    case undefined:
      return failure === undefined ? 'success' : 'error';
  }
}

function stoppedFailure(live: LiveRun): RunFailure | undefined {
  switch (live.stopReason) {
    case 'timeout':
      return { error: 'RunTimeout', message: 'The run took longer than its timeout and was stopped.' };
    case 'rollback':
      return { error: 'RunRolledBack', message: 'The run was cancelled and rolled back.' };
    case 'handover':
    case 'lost':
    case 'interrupt':
    case undefined:
      return undefined;
  }
}

function threadOutcome(ending: RunEnding, snapshot: StateSnapshot | undefined): ThreadOutcome {
  const failed = ending.status === 'error' || ending.status === 'timeout';
  const waiting = (snapshot?.next.length ?? 0) > 0;
  return {
    status: failed ? 'error' : waiting ? 'interrupted' : 'idle',
    values: snapshot === undefined ? undefined : stateOnly(snapshot),
    interrupts: interruptsByTask(snapshot),
  };
}

/** A thread without a checkpoint has no values: null, as at creation. */
function stateOnly(snapshot: StateSnapshot): string {
  return snapshot.createdAt === undefined
    ? 'null'
    : toWireJson(snapshot.values, { strict: false, root: 'values' });
}

function failureOf(error: unknown): RunFailure {
  if (error instanceof Error || (typeof error === 'object' && error !== null && 'message' in error)) {
    const { name, message } = error as { name?: string; message: string };
    return { error: name ?? 'Error', message };
  }
  return { error: 'Error', message: String(error) };
}

/**
 * Waits for one thing after another, until a moment after the signal is aborted: from then on with nothing. A race with
 * one promise that lives as long as the run would hold everything that was ever waited for.
 */
function graceAfter(signal: AbortSignal): {
  within: <T>(work: Promise<T>) => Promise<T | undefined>;
  clear: () => void;
} {
  let timer: NodeJS.Timeout | undefined;
  let over = false;
  let giveUp: () => void = () => undefined;
  const start = () => {
    timer = setTimeout(() => {
      over = true;
      giveUp();
    }, STOP_GRACE_MS);
  };
  if (signal.aborted) start();
  else signal.addEventListener('abort', start, { once: true });
  return {
    within: <T>(work: Promise<T>) =>
      new Promise<T | undefined>((resolve, reject) => {
        giveUp = () => resolve(undefined);
        work.then(resolve, reject);
        if (over) giveUp();
      }),
    clear: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', start);
    },
  };
}
