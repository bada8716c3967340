import { Command, Send } from '@langchain/langgraph';

import {
  executeGraph,
  type ExecutionEvent,
  type ExecutionRequest,
  type ExecutionResult,
} from '../graphs/graphExecution.ts';
import type { RunFailure } from '../store/agentDatabase.ts';
import { ATTEMPT_KEY, type CheckpointStore, RunWriter } from '../store/checkpointStore.ts';
import type { EventStore, StreamEvent } from '../store/eventStore.ts';
import { EventLog } from './eventLog.ts';
import { type LiveRun, patiently } from './liveRun.ts';
import type { RunGraphs } from './runGraphs.ts';
import { type ExecutionOutcome, failureOf, type RunOutcomes } from './runOutcome.ts';
import type { CheckpointTuple } from '@langchain/langgraph-checkpoint';
import type { CompiledGraph } from '../graphs/compiledGraph.ts';
import type { RunFootprint } from '../store/runFootprint.ts';
import type { Kwargs } from './newRun.ts';

/** Executes runs: gives the graph its configuration, publishes its events, stops it. */
export class RunExecution {
  readonly #graphs: RunGraphs;
  readonly #outcomes: RunOutcomes;
  readonly #checkpoints: CheckpointStore;
  readonly #footprint: RunFootprint;
  readonly #events: EventStore;
  readonly #lease: { readonly holds: boolean };

  constructor(options: {
    graphs: RunGraphs;
    outcomes: RunOutcomes;
    checkpoints: CheckpointStore;
    footprint: RunFootprint;
    events: EventStore;
    lease: { readonly holds: boolean };
  }) {
    this.#graphs = options.graphs;
    this.#outcomes = options.outcomes;
    this.#checkpoints = options.checkpoints;
    this.#footprint = options.footprint;
    this.#events = options.events;
    this.#lease = options.lease;
  }

  /**
   * Executes a run that has begun, to its end. Whatever the graph does is an ending. A run that was stopped ends by its
   * reason, and what is left of it can store nothing more. `blank`: its thread has no checkpoint yet.
   * @throws what a database that cannot be reached for longer than the lease says.
   */
  async execute(live: LiveRun, blank: boolean): Promise<ExecutionOutcome> {
    const kwargs = live.record.kwargs as Kwargs;
    const timer = this.#startTimeout(live, kwargs.timeout);
    const { run_id: runId, attempt, owner } = live.record;
    const hold = {
      fence: { runId, attempt, owner },
      holds: () => this.#lease.holds,
      onLost: () => live.stop('lost'),
    };
    this.#checkpoints.admit(new RunWriter({ ...hold, blank }));
    let result: ExecutionResult | undefined;
    let failure: RunFailure | undefined;
    try {
      const deliver = ({ id, event, data }: StreamEvent) => live.channel.publish(event, data, id);
      const log = { ...hold, store: this.#events, deliver };
      if (live.resumable || live.record.followed) live.log = await EventLog.open(log);
      else live.logLater = () => EventLog.open({ ...log, sentBefore: () => live.channel.lastId });
      const graph = await this.#graphs.of(kwargs);
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
      live.logLater = undefined;
      await live.published();
      await this.#checkpoints.fence(runId);
    }
    return this.#outcomes.of(live, failure, result);
  }

  async #entryOf(live: LiveRun, kwargs: Kwargs, graph: CompiledGraph): Promise<Entry> {
    const stores = { checkpoints: this.#checkpoints, footprint: this.#footprint };
    return patiently(live, this.#lease, () => entryOf(live, kwargs, graph, stores));
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
        if (step === undefined) throw new Error('The stopped graph did not end and was abandoned.');
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

/** What a run's `kwargs` say to LangGraph, where its attempt enters the graph. */
function requestFor(
  live: LiveRun,
  kwargs: Kwargs,
  graph: CompiledGraph,
  entry: Exclude<Entry, 'over'>,
): ExecutionRequest {
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

/** How long a stopped graph may take to come to rest before it is left behind, in milliseconds. */
const STOP_GRACE_MS = 2_000;

/** Waits for one thing after another, with an end. */
interface StopGrace {
  /** Waits for the work; `undefined` once the grace is over. */
  within<T>(work: Promise<T>): Promise<T | undefined>;
  /** Takes its timer and its listener away. */
  clear(): void;
}

/**
 * Waits for one thing after another, until a moment after the signal is aborted: from then on with nothing. A race with
 * one promise that lives as long as the run would hold everything that was ever waited for.
 */
function graceAfter(signal: AbortSignal): StopGrace {
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

/**
 * Where an attempt of a run enters its graph. `start`: with the run's own input or command. `resume`: from its last
 * checkpoint; what nodes had finished there is kept, so only those that were cut run again. `over`: not at all, there
 * is nothing left to do.
 */
type Entry = 'start' | 'resume' | 'over';

/**
 * Finds out where an attempt enters. A first attempt starts. A further one resumes where the run's own last checkpoint
 * is; a run that had not written one starts again, and what is left of its command is taken back first.
 */
async function entryOf(
  live: LiveRun,
  kwargs: Kwargs,
  graph: CompiledGraph,
  stores: { checkpoints: CheckpointStore; footprint: RunFootprint },
): Promise<Entry> {
  if (live.record.attempt <= 1 || graph.checkpointer === false) return 'start';
  const newest = await stores.checkpoints.getTuple({
    configurable: { thread_id: live.threadId, checkpoint_ns: '' },
  });
  if (newest !== undefined && ownerOf(newest) === live.runId) {
    return (await waitsForSomebody(graph, newest, kwargs)) ? 'over' : 'resume';
  }
  if (kwargs.command === null || (await stores.footprint.rollBackCommand(live.record))) return 'start';
  live.stop('lost');
  return 'over';
}

function ownerOf(tuple: CheckpointTuple): unknown {
  return (tuple.metadata as Record<string, unknown> | undefined)?.['run_id'];
}

/**
 * Whether the run had come to one of its `interrupt_before` or `interrupt_after` nodes, and only its end was not stored
 * any more: LangGraph takes a run that is resumed without an input as told to go on, and would pass the place where a
 * person is to look. This is LangGraph's own rule: something is new since the last interrupt, and the node is named.
 */
async function waitsForSomebody(
  graph: CompiledGraph,
  tuple: CheckpointTuple,
  kwargs: Kwargs,
): Promise<boolean> {
  const before = kwargs.interrupt_before ?? graph.interruptBefore ?? [];
  const after = kwargs.interrupt_after ?? graph.interruptAfter ?? [];
  if (before.length === 0 && after.length === 0) return false;
  // A node has begun from here: the place was passed.
  if ((tuple.pendingWrites ?? []).length > 0) return false;
  const { channel_versions: versions, versions_seen: seen } = tuple.checkpoint;
  const interrupted = seen['__interrupt__'] ?? {};
  const isNew = Object.entries(versions).some(([channel, version]) => {
    const known = interrupted[channel];
    return known === undefined || version > known;
  });
  if (!isNew) return false;
  const { next } = await graph.getState(tuple.config);
  if (namesOneOf(before, next)) return true;
  if (after.length === 0 || tuple.parentConfig === undefined || tuple.metadata?.source !== 'loop')
    return false;
  const parent = await graph.getState(tuple.parentConfig);
  return (
    next.length > 0 &&
    namesOneOf(
      after,
      parent.tasks.map((task) => task.name),
    )
  );
}

function namesOneOf(nodes: readonly string[] | '*', names: readonly string[]): boolean {
  return nodes === '*' ? names.length > 0 : names.some((name) => nodes.includes(name));
}
