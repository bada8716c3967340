import type { CompiledGraph } from '../graphs/compiledGraph.ts';
import { executeGraph, type ExecutionEvent, type ExecutionResult } from '../graphs/graphExecution.ts';
import type { RunFailure } from '../store/agentDatabase.ts';
import { type CheckpointStore, RunWriter } from '../store/checkpointStore.ts';
import type { EventStore, StreamEvent } from '../store/eventStore.ts';
import type { RunFootprint } from '../store/runFootprint.ts';
import { EventLog } from './eventLog.ts';
import { requestFor } from './graphRequest.ts';
import type { LiveRun } from './liveRun.ts';
import type { Kwargs } from './newRun.ts';
import { patiently } from './patience.ts';
import { type Entry, entryOf } from './resumption.ts';
import type { RunGraphs } from './runGraphs.ts';
import { type ExecutionOutcome, failureOf, type RunOutcomes } from './runOutcome.ts';
import { graceAfter } from './stopGrace.ts';

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
   * reason, and what is left of it can store nothing more.
   * `blank`: its thread has no checkpoint yet.
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
