import type { Logger } from 'pino';

import { retryDuringOutage } from '../../store/databaseOutage.ts';
import { pause } from '../../pause.ts';
import type { Slots } from '../../slots.ts';
import { isActive, type RunRecord, webhookOf } from '../store/agentDatabase.ts';
import type { RunEnds } from '../store/runEnds.ts';
import type { BegunRun, RunStore } from '../store/runStore.ts';
import type { LiveRun, RunEnding, StopReason } from './liveRun.ts';
import { marksOf } from './newRun.ts';
import { executeRun, type ExecutionParts } from './runExecution.ts';
import type { ExecutionOutcome } from './runOutcome.ts';

/** The default limit of lost attempts. Without one, a run that kills its process would do so forever. */
const ATTEMPTS_MAX = 3;

export interface RunParts extends ExecutionParts {
  readonly runs: RunStore;
  readonly ends: RunEnds;
  /** How many attempts a run may lose before it fails. Default {@link ATTEMPTS_MAX}. */
  readonly maxAttempts?: number;
  readonly log: Logger;
}

interface RunLifecycleParts extends RunParts {
  readonly slots: Slots;
  /** Waits until a run has ended, in this process or another. */
  readonly waitForEnd: (record: RunRecord, signal: AbortSignal) => Promise<void>;
  /** Called when the delay of a run has ended. */
  readonly onDue: (live: LiveRun) => void;
}

/** A run that began when it was accepted, with the function that returns its slot. */
export interface StartedRun extends BegunRun {
  readonly releaseSlot: () => void;
}

/**
 * One run in this process: waits for its start time and its turn, begins, executes, and stores its end. Each database
 * change counts only while this process owns the run in the attempt it knows. It is retried while the database is
 * away and the lease holds.
 */
export class RunLifecycle {
  readonly #parts: RunLifecycleParts;

  constructor(parts: RunLifecycleParts) {
    this.#parts = parts;
  }

  /**
   * Takes a run to its end, or until it continues in another process. `earlierRuns`: those of its thread.
   * `started`: set if it has begun already.
   * @throws the database's error if its end could not be stored.
   */
  async runToEnd(
    live: LiveRun,
    earlierRuns: readonly RunRecord[],
    started: StartedRun | undefined,
  ): Promise<RunEnding> {
    if (started !== undefined) {
      try {
        return await this.#execute(live, started);
      } finally {
        started.releaseSlot();
      }
    }
    if (live.record.start_after !== null) await this.#waitUntilDue(live);
    const { runs, slots, waitForEnd } = this.#parts;
    for (let earlier = earlierRuns; ;) {
      const due = earlier.filter((run) => run.start_after === null);
      await waitUnlessAborted(Promise.all(due.map((run) => waitForEnd(run, live.signal))), live.signal);
      if (this.#isExhausted(live)) return this.#endWithoutExecuting(live);
      const releaseSlot = await slots.acquire(live.signal);
      if (releaseSlot === undefined) return this.#endWithoutExecuting(live);
      try {
        live.isExecuting = true;
        const begun = await this.#retry(() => runs.begin(live.record, marksOf(live.record)));
        if (begun !== undefined) {
          live.record = begun.run;
          return await this.#execute(live, begun);
        }
        live.isExecuting = false;
      } finally {
        releaseSlot();
      }
      const current = await this.#retry(() => runs.find(live.threadId, live.runId));
      if (current === undefined) return REMOVED_ENDING;
      // Another process ended or claimed it while it waited.
      if (current.status !== 'pending' || current.owner !== live.record.owner) return LOST_ENDING;
      const active = await this.#retry(() => runs.activeRuns(live.threadId));
      earlier = active.filter((other) => BigInt(other.sequence) < BigInt(current.sequence));
    }
  }

  /** The clock of this machine may differ from the database's, or be set meanwhile: only the remaining time counts. */
  async #waitUntilDue(live: LiveRun): Promise<void> {
    let remaining = await this.#retry(() => this.#parts.runs.remainingDelay(live.record));
    for (; remaining > 0 && !live.signal.aborted; remaining -= TIMER_MAX_MS)
      await pause(Math.min(remaining, TIMER_MAX_MS), live.signal);
    if (live.signal.aborted) return;
    const due = await this.#retry(() => this.#parts.runs.endDelay(live.record));
    if (due === undefined) return;
    live.record = due;
    this.#parts.onDue(live);
  }

  async #execute(live: LiveRun, { isThreadEmpty, hasSavedWrites }: BegunRun): Promise<RunEnding> {
    const outcome = await executeRun(this.#parts, live, isThreadEmpty);
    return this.#storeOutcome(live, outcome, hasSavedWrites);
  }

  /** Ends a run that does not begin: it was stopped before, or its attempts are used up. */
  async #endWithoutExecuting(live: LiveRun): Promise<RunEnding> {
    if (live.stopReason === 'rollback') return this.#rollBack(live);
    const { attempt, lost_attempts: lost } = live.record;
    // Its readers have seen the events of earlier attempts, so its end needs a later id.
    if (live.resumable && attempt > 0)
      live.channel.continueAfter(await this.#retry(() => this.#parts.events.newestId(live.runId)));
    const attemptsFailure = {
      error: 'AttemptsExhausted',
      message:
        `The run was begun ${attempt} times, and ${lost} times its process died or stood still before it ` +
        `ended: it fails after ${lost}. Its earlier effects remain.`,
    };
    const outcome = await this.#parts.outcomes.readOutcome(
      live,
      live.stopReason === undefined ? attemptsFailure : undefined,
    );
    return this.#storeOutcome(live, outcome, attempt > 0);
  }

  /**
   * Stores how a run ended. If a cancel was stored first, the cancel counts, and the outcome is computed again. So is that
   * of a run that has not begun, if its thread has changed meanwhile.
   */
  async #storeOutcome(live: LiveRun, outcome: ExecutionOutcome, hasSavedWrites: boolean): Promise<RunEnding> {
    const { ending, thread, result } = outcome;
    const { ends, runs } = this.#parts;
    if (ending.status === 'lost') return ending;
    if (ending.status === 'handed_over') {
      await this.#retry(() => runs.release(live.record));
      return ending;
    }
    if (ending.status === 'rolled_back') return this.#rollBack(live);
    const { status, values, failure } = ending;
    // A run without a thread, and one of a graph without a checkpointer, leaves no checkpoint to read them from.
    const isKept = thread?.state?.values !== undefined && webhookOf(live.record) === undefined;
    const output = isKept ? undefined : values;
    const endedAt = await this.#retry(() =>
      ends.finish(live.record, { status, thread, error: failure, output }),
    );
    if (endedAt !== undefined) {
      live.record = { ...live.record, updated_at: endedAt };
      await this.#tidyUp(live, hasSavedWrites);
      return ending;
    }
    const current = await this.#findOwned(live);
    if (current === undefined) return LOST_ENDING;
    if (current.cancel_action !== null) live.stop(current.cancel_action as StopReason);
    return this.#storeOutcome(
      live,
      await this.#parts.outcomes.readOutcome(live, undefined, result),
      hasSavedWrites,
    );
  }

  /** The active run, if this process still owns it in the attempt it knows. */
  async #findOwned(live: LiveRun): Promise<RunRecord | undefined> {
    const current = await this.#retry(() => this.#parts.runs.find(live.threadId, live.runId));
    if (current === undefined || !isActive(current)) return undefined;
    const { owner, attempt } = live.record;
    return current.owner === owner && current.attempt === attempt ? current : undefined;
  }

  async #rollBack(live: LiveRun): Promise<RunEnding> {
    const { ends, footprint, outcomes } = this.#parts;
    // A run that has not begun changed nothing. What is pending on the thread, and its marks, belong to others.
    const hasFootprint = live.record.attempt > 0;
    if (hasFootprint && !(await this.#retry(() => footprint.rollBack(live.record)))) return LOST_ENDING;
    const { ending, thread } = await outcomes.readOutcome(live, undefined);
    // The lease may have expired meanwhile.
    if (ending.status === 'lost') return ending;
    const endedAt = await this.#retry(() => ends.finishRolledBack(live.record, thread));
    if (endedAt === undefined)
      return (await this.#findOwned(live)) === undefined ? LOST_ENDING : this.#rollBack(live);
    live.record = { ...live.record, updated_at: endedAt };
    await this.#tidyUp(live, hasFootprint);
    return ending;
  }

  /** Removes what an ended run leaves behind. Because the run has ended, a failure is only logged. */
  async #tidyUp(live: LiveRun, hasSavedWrites: boolean): Promise<void> {
    const { checkpoints, footprint, log } = this.#parts;
    try {
      if (live.stateless) {
        if (live.record.attempt > 0) await checkpoints.deleteThread(live.threadId);
      } else if (hasSavedWrites) await footprint.dropSavedWrites(live.runId);
    } catch (error) {
      log.warn({ err: error, runId: live.runId }, 'what an ended run left could not be tidied up');
    }
  }

  #isExhausted(live: LiveRun): boolean {
    return live.record.lost_attempts >= (this.#parts.maxAttempts ?? ATTEMPTS_MAX);
  }

  #retry<T>(operation: () => Promise<T>): Promise<T> {
    return retryDuringOutage(this.#parts.lease, operation);
  }
}

export const REMOVED_ENDING: RunEnding = {
  status: 'rolled_back',
  values: 'null',
  failure: { error: 'RunRemoved', message: 'The run was rolled back or deleted.' },
};

/** The ending, in this process, of a run that another process may be executing. */
export const LOST_ENDING: RunEnding = { status: 'lost', values: 'null', failure: undefined };

/** The longest that one timer can wait, in milliseconds. */
const TIMER_MAX_MS = 2 ** 31 - 1;

async function waitUnlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([work, stopped]).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
