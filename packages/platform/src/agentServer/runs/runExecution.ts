import { Command } from '@langchain/langgraph';
import { isRecord } from '@slipway/contract/json';
import { pick } from '@slipway/contract/pick';

import {
  executeGraph,
  type ExecutionEvent,
  type ExecutionRequest,
  type ExecutionResult,
} from '../graphs/graphExecution.ts';
import type { RunFailure } from '../store/agentDatabase.ts';
import { ATTEMPT_KEY, type CheckpointStore } from '../store/checkpointStore.ts';
import type { EventStore, StreamEvent } from '../store/eventStore.ts';
import { EventLog } from './eventLog.ts';
import { type Lease, retryDuringOutage } from '../../store/databaseOutage.ts';
import type { LiveRun } from './liveRun.ts';
import type { Assistants } from '../graphs/assistants.ts';
import { type ExecutionOutcome, toRunFailure, type RunOutcomes } from './runOutcome.ts';
import type { CheckpointTuple } from '@langchain/langgraph-checkpoint';
import { type CompiledGraph, usesDefaultStart } from '../graphs/compiledGraph.ts';
import type { RunFootprint } from '../store/runFootprint.ts';
import type { Kwargs } from './newRun.ts';

/** What an execution uses. */
export interface ExecutionParts {
  readonly assistants: Assistants;
  readonly outcomes: RunOutcomes;
  readonly checkpoints: CheckpointStore;
  readonly footprint: RunFootprint;
  readonly events: EventStore;
  readonly lease: Lease;
}

/**
 * Executes a run that has begun, to its end: configures the graph, publishes its events, stops it. If the graph fails,
 * that is an ending too. A stopped run ends by its stop reason, and what still executes of it can store nothing.
 * `isThreadEmpty`: its thread has no checkpoint yet.
 * @throws the database's error if it was away for longer than the lease.
 */
export async function executeRun(
  parts: ExecutionParts,
  live: LiveRun,
  isThreadEmpty: boolean,
): Promise<ExecutionOutcome> {
  const { assistants, checkpoints, events, lease, outcomes } = parts;
  const kwargs = live.record.kwargs as Kwargs;
  // Decision: each attempt gets the whole timeout, because the number of attempts is limited as well.
  const timer = setTimeout(() => live.stop('timeout'), kwargs.timeout * 1_000);
  const { run_id: runId, attempt, owner } = live.record;
  const onRunLost = () => live.stop('lost');
  const writeGuard = { fence: { runId, attempt, owner }, lease, onRunLost };
  const writer = checkpoints.openWriter({ threadId: live.threadId, ...writeGuard, isThreadEmpty });
  let result: ExecutionResult | undefined;
  let failure: RunFailure | undefined;
  try {
    const sendToReaders = ({ id, event, data }: StreamEvent) => live.channel.publish(event, data, id);
    const log = { ...writeGuard, store: events, sendToReaders };
    if (live.resumable || live.record.followed) live.log = await EventLog.open(log);
    else live.logLater = () => EventLog.open({ ...log, lastSentId: () => live.channel.lastId });
    const graph = await assistants.graphOfRun(kwargs);
    const entry = await retryDuringOutage(lease, () => chooseEntry(live, kwargs, graph, parts), onRunLost);
    writer.usesDefaultStart = entry === 'start' && kwargs.command === null && usesDefaultStart(graph);
    const { configurable } = kwargs.config;
    // An earlier run of the thread may have been rolled back while this one waited.
    if (entry === 'start')
      await retryDuringOutage(lease, () => checkpoints.requireCheckpoint(configurable), onRunLost);
    if (entry !== 'over') {
      const command =
        entry === 'start'
          ? await retryDuringOutage(lease, () => addressResume(live, kwargs, graph), onRunLost)
          : null;
      const request = createExecutionRequest(live, { ...kwargs, command }, graph, entry);
      result = await follow(live, executeGraph(request));
    }
  } catch (error) {
    // After a stop, any error follows from the stop.
    if (live.stopReason === undefined) failure = toRunFailure(error);
    // The graph may still run after its error, so abort it.
    live.abortGraph();
  } finally {
    clearTimeout(timer);
    live.logLater = undefined;
    await live.waitUntilPublished();
    const unstored = await checkpoints.closeWriter(writer);
    if (unstored !== undefined && live.stopReason === undefined) failure ??= toRunFailure(unstored);
  }
  return outcomes.readOutcome(live, failure, result);
}

/** Publishes an execution's events. Once the run is stopped, the graph has a grace period and is then abandoned. */
async function follow(
  live: LiveRun,
  events: AsyncGenerator<ExecutionEvent, ExecutionResult>,
): Promise<ExecutionResult> {
  const grace = createGracePeriod(live.signal);
  try {
    for (;;) {
      const step = await grace.within(events.next());
      if (step === undefined) throw new Error('The stopped graph did not end and was abandoned.');
      if (step.done === true) return step.value;
      if (live.stopReason === undefined) live.publish(step.value.event, step.value.data);
      await live.waitForCapacity();
    }
  } finally {
    grace.clear();
  }
}

/** Translates a run's `kwargs` for LangGraph, depending on where its attempt enters the graph. */
function createExecutionRequest(
  live: LiveRun,
  kwargs: Kwargs,
  graph: CompiledGraph,
  entry: Exclude<Entry, 'over'>,
): ExecutionRequest {
  // Other fields (`store`, `callbacks` …) would replace parts of the server.
  const { metadata, configurable, tags, recursion_limit: recursionLimit } = kwargs.config;
  const { checkpoint_id: checkpointId, checkpoint_map: checkpointMap, ...addressed } = configurable;
  // A resumed run continues from its own newest checkpoint, wherever it had branched off.
  const branch = entry === 'resume' ? {} : { checkpoint_id: checkpointId, checkpoint_map: checkpointMap };
  const input = kwargs.command === null ? kwargs.input : toCommand(kwargs.command);
  const origin = pick(addressed, 'user_id', 'run_id', 'graph_id', 'thread_id', 'assistant_id');
  return {
    graph,
    input: entry === 'resume' ? null : input,
    streamModes: kwargs.stream_mode,
    subgraphs: kwargs.subgraphs,
    options: {
      // If a checkpoint id is present, even null, LangGraph replays from there.
      configurable: { ...addressed, ...omitNulls(branch), [ATTEMPT_KEY]: live.record.attempt },
      metadata: { ...metadata, ...origin },
      runId: live.runId,
      signal: live.signal,
      ...(tags != null && { tags }),
      ...(recursionLimit != null && { recursionLimit }),
      ...(kwargs.context !== null && { context: kwargs.context }),
      ...(kwargs.interrupt_before !== null && { interruptBefore: kwargs.interrupt_before }),
      ...(kwargs.interrupt_after !== null && { interruptAfter: kwargs.interrupt_after }),
      // Decision: unless the request says otherwise, each step is stored before the next begins, so a killed run does
      // not repeat stored steps. The cost is one statement's time per step.
      durability: kwargs.durability ?? 'sync',
    },
  };
}

/**
 * The run's command, with the ids of the interrupts that its answer is for if it needs them: LangGraph.js ignores
 * `false`, `0` and `''` without ids, and a further attempt must not answer what was asked meanwhile. An answer without an
 * id is for all that wait.
 */
async function addressResume(
  live: LiveRun,
  { command, config }: Kwargs,
  graph: CompiledGraph,
): Promise<Kwargs['command']> {
  if (command?.resume == null || isAddressed(command.resume)) return command;
  if (Boolean(command.resume) && live.record.attempt <= 1) return command;
  const place = { thread_id: live.threadId, checkpoint_id: config.configurable['checkpoint_id'] };
  const { tasks } = await graph.getState({ configurable: omitNulls(place) });
  const ids = tasks.flatMap(({ interrupts }) => interrupts.flatMap(({ id }) => id ?? []));
  if (ids.length === 0) return command;
  return { ...command, resume: Object.fromEntries(ids.map((id) => [id, command.resume])) };
}

/** Whether answers come with the ids of their interrupts, by LangGraph's own rule. */
function isAddressed(resume: unknown): boolean {
  const ids = isRecord(resume) ? Object.keys(resume) : [];
  return ids.length > 0 && ids.every((id) => /^[0-9a-f]{32}$/.test(id));
}

function omitNulls(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value != null));
}

/**
 * LangGraph's command. It accepts a `Send` only from the agent's own copy of LangGraph, which this server lacks. So what
 * it would write for one is an update: a task in the channel of tasks.
 */
function toCommand({ update, resume, goto }: NonNullable<Kwargs['command']>): Command {
  const steps = goto == null ? [] : [goto].flat();
  const tasks = steps
    .filter((step) => typeof step !== 'string')
    .map(({ node, input }): [string, unknown] => [TASKS, { node, args: input ?? null }]);
  const updates = Array.isArray(update) ? update : Object.entries(update ?? {});
  return new Command({
    ...(resume != null && { resume }),
    goto: steps.filter((step) => typeof step === 'string'),
    update: [...updates, ...tasks],
  });
}

/** LangGraph's name of its channel of tasks. */
const TASKS = '__pregel_tasks';

/** How long a stopped graph may take to end before it is abandoned, in milliseconds. */
const STOP_GRACE_MS = 2_000;

/**
 * Waits for one promise after another, until a grace period after the abort. (A race against one promise that lives
 * as long as the run would retain every awaited result in memory.)
 */
function createGracePeriod(signal: AbortSignal) {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let giveUp: () => void = () => undefined;
  const start = () => {
    timer = setTimeout(() => {
      isOver = true;
      giveUp();
    }, STOP_GRACE_MS);
  };
  if (signal.aborted) start();
  else signal.addEventListener('abort', start, { once: true });
  return {
    /** Waits for the work; `undefined` once the grace period is over. */
    within: <T>(work: Promise<T>) =>
      new Promise<T | undefined>((resolve, reject) => {
        giveUp = () => resolve(undefined);
        work.then(resolve, reject);
        if (isOver) giveUp();
      }),
    clear: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', start);
    },
  };
}

/**
 * Where an attempt enters its graph. `start`: with the run's own input or command. `resume`: from its last
 * checkpoint. Results of finished nodes are kept, so only interrupted nodes run again. `over`: nothing is left to do.
 */
type Entry = 'start' | 'resume' | 'over';

/**
 * Decides where an attempt enters. The first attempt starts. A further one resumes from the run's own last
 * checkpoint. If the run had written none, it starts again, after the remains of its command are rolled back.
 */
async function chooseEntry(
  live: LiveRun,
  kwargs: Kwargs,
  graph: CompiledGraph,
  stores: { checkpoints: CheckpointStore; footprint: RunFootprint },
): Promise<Entry> {
  if (live.record.attempt <= 1 || graph.checkpointer === false) return 'start';
  const newest = await stores.checkpoints.getTuple({
    configurable: { thread_id: live.threadId, checkpoint_ns: '' },
  });
  const isOwn = (newest?.metadata as { run_id?: unknown } | undefined)?.run_id === live.runId;
  if (newest !== undefined && isOwn)
    return (await hasStoppedAtInterrupt(graph, newest, kwargs)) ? 'over' : 'resume';
  if (kwargs.command === null || (await stores.footprint.rollBackCommand(live.record))) return 'start';
  live.stop('lost');
  return 'over';
}

/**
 * Whether the run had stopped at one of its `interrupt_before` or `interrupt_after` nodes, but its end was not
 * stored. LangGraph would continue a run that is resumed without an input, and so pass the place where a person must
 * look. This follows LangGraph's own rule: something is new since the last interrupt, and the node is named.
 */
async function hasStoppedAtInterrupt(
  graph: CompiledGraph,
  tuple: CheckpointTuple,
  kwargs: Kwargs,
): Promise<boolean> {
  const before = kwargs.interrupt_before ?? graph.interruptBefore ?? [];
  const after = kwargs.interrupt_after ?? graph.interruptAfter ?? [];
  if (before.length === 0 && after.length === 0) return false;
  // A node has begun from here, so the run has passed the place.
  if ((tuple.pendingWrites ?? []).length > 0) return false;
  const { channel_versions: versions, versions_seen: seen } = tuple.checkpoint;
  const interrupted = seen['__interrupt__'] ?? {};
  const isNew = Object.entries(versions).some(([channel, version]) => {
    const known = interrupted[channel];
    return known === undefined || version > known;
  });
  if (!isNew) return false;
  const { next } = await graph.getState(tuple.config);
  if (includesAnyNode(before, next)) return true;
  if (after.length === 0 || tuple.parentConfig === undefined || tuple.metadata?.source !== 'loop')
    return false;
  const parent = await graph.getState(tuple.parentConfig);
  return (
    next.length > 0 &&
    includesAnyNode(
      after,
      parent.tasks.map((task) => task.name),
    )
  );
}

function includesAnyNode(nodes: readonly string[] | '*', names: readonly string[]): boolean {
  return nodes === '*' ? names.length > 0 : names.some((name) => nodes.includes(name));
}
