import { isRecord } from '@slipway/contract/json';
import type { Logger } from 'pino';

import type { StateSnapshot } from '../graphs/compiledGraph.ts';
import type { ExecutionResult } from '../graphs/graphExecution.ts';
import { interruptsByTask, restingStatus, type ThreadStates, valuesOf } from '../graphs/threadStates.ts';
import { isDatabaseUnavailable, type Lease, retryDuringOutage } from '../../store/databaseOutage.ts';
import type { RunFailure, RunRecord } from '../store/agentDatabase.ts';
import type { CheckpointStore } from '../store/checkpointStore.ts';
import type { ThreadOutcome } from '../store/runEnds.ts';
import type { RunFootprint } from '../store/runFootprint.ts';
import type { LiveRun, RunEnding } from './liveRun.ts';
import type { Kwargs } from './newRun.ts';
import type { Assistants } from '../graphs/assistants.ts';
import { toWireJson } from './wireJson.ts';

/** The result of a run's end for the run and for its thread. */
export interface ExecutionOutcome {
  readonly ending: RunEnding;
  /** `undefined` for a stateless run. */
  readonly thread: ThreadOutcome | undefined;
  readonly result: ExecutionResult | undefined;
}

interface RunOutcomesParts {
  readonly assistants: Assistants;
  readonly states: ThreadStates;
  readonly checkpoints: CheckpointStore;
  readonly footprint: RunFootprint;
  readonly lease: Lease;
  readonly log: Logger;
}

/** Determines how runs ended, and reads the values of ended runs. */
export class RunOutcomes {
  readonly #parts: RunOutcomesParts;

  constructor(parts: RunOutcomesParts) {
    this.#parts = parts;
  }

  /**
   * The ending of a run and the state of its thread, read from the thread's newest checkpoint by the run's graph, or
   * by the thread's own if the run changed nothing.
   */
  async readOutcome(
    live: LiveRun,
    failure: RunFailure | undefined,
    result?: ExecutionResult,
  ): Promise<ExecutionOutcome> {
    let problem = failure ?? stoppedFailure(live);
    if (live.isMovingToAnotherProcess) {
      return {
        ending: { status: statusOf(live, problem), values: 'null', failure: problem },
        thread: undefined,
        result,
      };
    }
    let read: ReadState = { snapshot: undefined };
    let values = 'null';
    try {
      if (!live.stateless || result === undefined) {
        read = await retryDuringOutage(
          this.#parts.lease,
          () => this.#read(live, result),
          () => live.stop('lost'),
        );
      }
      const { snapshot } = read;
      const answerValues =
        snapshot === undefined || endedWhereItBegan(live, snapshot, result)
          ? withInterrupts(result?.values === undefined ? {} : result.values, result?.interrupts ?? [])
          : valuesWithInterrupts(snapshot);
      values = toWireJson(answerValues, { strict: true, root: 'values' });
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      this.#parts.log.warn({ err: error, runId: live.runId }, 'the state after a run could not be read');
      problem ??= toRunFailure(error);
    }
    const ending: RunEnding = { status: statusOf(live, problem), values, failure: problem };
    return { ending, thread: live.stateless ? undefined : threadOutcome(live, ending, read), result };
  }

  /** JSON text: the values that an ended run left, read from its own last checkpoint, or from the one where it began. */
  async storedValues(record: RunRecord): Promise<string> {
    const graph = await this.#parts.assistants.graphOfRun(record.kwargs as Kwargs);
    if (graph.checkpointer === false) return 'null';
    const thread = { thread_id: record.thread_id, checkpoint_ns: '' };
    let configurable: Record<string, unknown> = { thread_id: record.thread_id };
    const branch = branchOf(record);
    if (branch !== undefined) configurable = { ...thread, checkpoint_id: branch };
    const filter = { run_id: record.run_id };
    for await (const tuple of this.#parts.checkpoints.list({ configurable: thread }, { filter, limit: 1 })) {
      configurable = { ...thread, checkpoint_id: tuple.checkpoint.id };
    }
    return toWireJson(valuesWithInterrupts(await graph.getState({ configurable })), {
      strict: false,
      root: 'values',
    });
  }

  async #read(
    { stateless, stopReason, record }: LiveRun,
    result: ExecutionResult | undefined,
  ): Promise<ReadState> {
    if (!stateless && (record.attempt === 0 || stopReason === 'rollback'))
      return this.#parts.states.newestOf(record.thread_id);
    const { config } = record.kwargs as Kwargs;
    const graph = await this.#parts.assistants.graphOfRun({ config });
    if (graph.checkpointer === false) return { snapshot: undefined };
    const newest = { configurable: { thread_id: record.thread_id } };
    try {
      // The checkpoint that a failed run branched off must stay readable too.
      const branch = branchOf(record);
      if (result === undefined && branch !== undefined)
        await graph.getState({ configurable: { ...newest.configurable, checkpoint_id: branch } });
      return { snapshot: await graph.getState(newest) };
    } catch (error) {
      if (result !== undefined || isDatabaseUnavailable(error)) throw error;
      await this.#parts.footprint.rollBackWrites(record);
      return { snapshot: await graph.getState(newest) };
    }
  }
}

/** The state that a run's end is determined by, if any. `version`: that of the thread before it was read. */
interface ReadState {
  readonly snapshot: StateSnapshot | undefined;
  readonly version?: string;
}

/** The checkpoint from which a run was asked to begin, if it is not its thread's newest. */
function branchOf(record: RunRecord): string | undefined {
  const { checkpoint_id: branch } = (record.kwargs as Kwargs).config.configurable;
  return typeof branch === 'string' && branch !== '' ? branch : undefined;
}

/** Whether a run wrote no checkpoint, because nothing was left to do where it began. */
function endedWhereItBegan(
  { runId, record }: LiveRun,
  newest: StateSnapshot,
  result: ExecutionResult | undefined,
): boolean {
  const metadata = newest.metadata as Record<string, unknown> | undefined;
  return result?.values !== undefined && branchOf(record) !== undefined && metadata?.['run_id'] !== runId;
}

/** The answer of `wait` and `join` for a state: its values and its pending interrupts. */
function valuesWithInterrupts({ values, tasks }: StateSnapshot): unknown {
  const interrupts = tasks.flatMap((task) => task.interrupts);
  return withInterrupts(values, interrupts);
}

function withInterrupts(values: unknown, interrupts: unknown[]): unknown {
  return interrupts.length > 0 ? { ...(isRecord(values) && values), __interrupt__: interrupts } : values;
}

const STATUS_OF_STOP = {
  interrupt: 'interrupted',
  rollback: 'rolled_back',
  timeout: 'timeout',
  handover: 'handed_over',
  lost: 'lost',
} as const;

function statusOf({ stopReason }: LiveRun, failure: RunFailure | undefined): RunEnding['status'] {
  if (stopReason !== undefined) return STATUS_OF_STOP[stopReason];
  return failure === undefined ? 'success' : 'error';
}

function stoppedFailure({ stopReason }: LiveRun): RunFailure | undefined {
  if (stopReason === 'timeout')
    return { error: 'RunTimeout', message: 'The run took longer than its timeout and was stopped.' };
  if (stopReason === 'rollback')
    return { error: 'RunRolledBack', message: 'The run was cancelled and rolled back.' };
  return undefined;
}

function threadOutcome(live: LiveRun, ending: RunEnding, { snapshot, version }: ReadState): ThreadOutcome {
  // While it waited to begin, other runs may have changed the thread.
  if (live.record.attempt === 0)
    return { status: restingStatus(snapshot), keepsError: true, state: undefined, version };
  const failed = ending.status === 'error' || ending.status === 'timeout';
  return {
    status: failed ? 'error' : restingStatus(snapshot),
    keepsError: ending.status === 'rolled_back',
    state: {
      values: snapshot && toWireJson(valuesOf(snapshot), { strict: false, root: 'values' }),
      interrupts: interruptsByTask(snapshot),
    },
  };
}

/** An error as a run reports it: its name and its message. */
export function toRunFailure(error: unknown): RunFailure {
  if (error instanceof Error || (typeof error === 'object' && error !== null && 'message' in error)) {
    const { name, message } = error as { name?: string; message: string };
    return { error: name ?? 'Error', message };
  }
  return { error: 'Error', message: String(error) };
}
