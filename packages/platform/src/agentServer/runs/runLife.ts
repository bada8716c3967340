import { setTimeout as delay } from 'node:timers/promises';

import type { Logger } from 'pino';

import type { CheckpointStore } from '../store/checkpointStore.ts';
import { throughOutage } from '../store/databaseAway.ts';
import type { RunFootprint } from '../store/runFootprint.ts';
import type { RunLeases } from '../store/runLeases.ts';
import type { RunEnds } from '../store/runEnds.ts';
import type { RunRecord, RunRecords } from '../store/runRecords.ts';
import type { Begun, RunStore } from '../store/runStore.ts';
import type { LiveRun, RunEnding, StopReason } from './liveRun.ts';
import type { RunExecution } from './runExecution.ts';
import type { ExecutionOutcome, RunOutcomes } from './runOutcome.ts';
import type { RunSlots } from './runSlots.ts';

/**
 * How many attempts of a run may be lost before it is given up, where nothing else is said. A run that takes its process
 * along each time would otherwise do so for ever.
 */
const ATTEMPTS_MAX = 3;

/** What a {@link RunLife} works with. */
export interface RunLifeParts {
  readonly runs: RunStore;
  readonly records: RunRecords;
  readonly ends: RunEnds;
  readonly leases: RunLeases;
  readonly lease: { readonly holds: boolean };
  readonly checkpoints: CheckpointStore;
  readonly footprint: RunFootprint;
  readonly execution: RunExecution;
  readonly outcomes: RunOutcomes;
  /** Default {@link ATTEMPTS_MAX}. */
  readonly maxAttempts?: number;
  /** Places for runs that execute at the same time. */
  readonly slots: RunSlots;
  /** Waits until a run is over, wherever it is executed. */
  readonly over: (record: RunRecord, signal: AbortSignal) => Promise<void>;
  readonly log: Logger;
}

/**
 * One run's way in this process: waiting for its time and its turn, beginning, being executed, and its end in the
 * database. Each step there counts only while the run is this process's, in the attempt that it knows; it is tried
 * again while the database is away, for as long as the lease holds.
 */
export class RunLife {
  readonly #parts: RunLifeParts;

  constructor(parts: RunLifeParts) {
    this.#parts = parts;
  }

  /**
   * Lives a run to its end, or to where it goes on elsewhere. `before` are the runs of its thread that are known to
   * come first.
   * @throws what the database says where its end could not be stored.
   */
  async endingOf(live: LiveRun, before: readonly RunRecord[]): Promise<RunEnding> {
    await pauseUntil(live.record.start_after, live.signal);
    for (let earlier = before; ;) {
      await unlessStopped(this.#allOver(earlier, live.signal), live.signal);
      if (this.#isExhausted(live)) return this.#settle(live);
      const leaveSlot = await this.#parts.slots.take(live.signal);
      if (leaveSlot === undefined) return this.#settle(live);
      try {
        live.begun = true;
        const begun = await this.#store(() => this.#parts.runs.begin(live.record));
        if (begun !== undefined) {
          live.record = begun.run;
          return await this.#execute(live, begun);
        }
        live.begun = false;
      } finally {
        leaveSlot();
      }
      const current = await this.#store(() => this.#parts.records.find(live.threadId, live.runId));
      if (current === undefined) return GONE;
      // Somebody else ended it, or took it up, while it waited.
      if (current.status !== 'pending' || current.owner !== live.record.owner) return LOST;
      const active = await this.#store(() => this.#parts.records.activeOfThread(live.threadId));
      earlier = active.filter((other) => BigInt(other.sequence) < BigInt(current.sequence));
    }
  }

  async #execute(live: LiveRun, { blank, keptPending }: Begun): Promise<RunEnding> {
    return this.#conclude(live, await this.#parts.execution.execute(live, blank), keptPending);
  }

  /** The end of a run that does not begin: it was stopped before, or its attempts are used up. */
  async #settle(live: LiveRun): Promise<RunEnding> {
    if (live.stopReason === 'rollback') return this.#rollBack(live);
    const exhausted = live.stopReason === undefined ? this.#exhausted(live) : undefined;
    const outcome = await this.#parts.outcomes.of(live, exhausted);
    return this.#conclude(live, outcome, live.record.attempt > 0);
  }

  /**
   * Stores how a run ended. A cancel that is noted before that is obeyed, so that none is acknowledged in vain: the run
   * is judged again, as one that was stopped.
   */
  async #conclude(live: LiveRun, outcome: ExecutionOutcome, keptPending: boolean): Promise<RunEnding> {
    const { ending, thread, result } = outcome;
    if (ending.status === 'lost') return ending;
    if (ending.status === 'handed_over') return this.#release(live, ending);
    if (ending.status === 'rolled_back') return this.#rollBack(live);
    const { status, values, failure } = ending;
    const stored = await this.#store(() =>
      this.#parts.ends.finish(live.record, {
        status,
        thread,
        error: failure,
        output: live.stateless ? values : undefined,
      }),
    );
    if (stored) {
      await this.#tidy(live, keptPending);
      return ending;
    }
    const wish = await this.#notedCancel(live);
    if (wish === undefined) return LOST;
    live.stop(wish);
    return this.#conclude(live, await this.#parts.outcomes.of(live, undefined, result), keptPending);
  }

  /** How this process is asked to cancel a run that is still its own, in the attempt that it knows. */
  async #notedCancel(live: LiveRun): Promise<StopReason | undefined> {
    const current = await this.#store(() => this.#parts.records.find(live.threadId, live.runId));
    if (current === undefined || !isActive(current)) return undefined;
    const { owner, attempt } = live.record;
    if (current.owner !== owner || current.attempt !== attempt) return undefined;
    return (current.cancel_action ?? undefined) as StopReason | undefined;
  }

  /** Takes a run back: its checkpoints, its record, and what it did to its thread. */
  async #rollBack(live: LiveRun): Promise<RunEnding> {
    const { ends, footprint, outcomes } = this.#parts;
    if (!live.stateless && !(await this.#store(() => footprint.rollBack(live.record)))) return LOST;
    const { ending, thread } = await outcomes.of(live, undefined);
    if (!(await this.#store(() => ends.finishRolledBack(live.record, thread)))) return LOST;
    await this.#tidy(live, false);
    return ending;
  }

  /** Gives the run to whoever takes it up next. */
  async #release(live: LiveRun, ending: RunEnding): Promise<RunEnding> {
    await this.#store(() => this.#parts.leases.release(live.record));
    return ending;
  }

  /** Removes what an ended run needs no more. The run has ended: a failure is told, and what is left stays behind. */
  async #tidy(live: LiveRun, keptPending: boolean): Promise<void> {
    const { checkpoints, footprint, log } = this.#parts;
    try {
      if (live.stateless) {
        if (live.record.attempt > 0) await checkpoints.deleteThread(live.threadId);
      } else if (keptPending) await footprint.drop(live.runId);
    } catch (error) {
      log.warn({ err: error, runId: live.runId }, 'what an ended run left could not be removed');
    }
  }

  #isExhausted(live: LiveRun): boolean {
    return live.record.lost_attempts >= (this.#parts.maxAttempts ?? ATTEMPTS_MAX);
  }

  #exhausted(live: LiveRun) {
    const lost = live.record.lost_attempts;
    return {
      error: 'AttemptsExhausted',
      message:
        `The run was begun ${live.record.attempt} times, and ${lost} times its process died or stood still before it ` +
        `ended: it is given up after ${lost}. What it did until then remains.`,
    };
  }

  async #allOver(records: readonly RunRecord[], signal: AbortSignal): Promise<void> {
    await Promise.all(records.map((record) => this.#parts.over(record, signal)));
  }

  async #store<T>(work: () => Promise<T>): Promise<T> {
    return throughOutage(work, () => this.#parts.lease.holds);
  }
}

/** The ending of a run that is no more. */
export const GONE: RunEnding = {
  status: 'rolled_back',
  values: 'null',
  failure: { error: 'RunRemoved', message: 'The run was rolled back or deleted.' },
};

/** The ending, in this process, of a run that another one may be executing. */
export const LOST: RunEnding = { status: 'lost', values: 'null', failure: undefined };

export function isActive(record: Pick<RunRecord, 'status'>): boolean {
  return record.status === 'pending' || record.status === 'running';
}

/** The longest that one timer can wait, in milliseconds. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Waits until a time, or until the signal is aborted. */
async function pauseUntil(time: Date | null, signal: AbortSignal): Promise<void> {
  for (let left = remaining(time); left > 0 && !signal.aborted; left = remaining(time)) {
    await delay(Math.min(left, TIMER_MAX_MS), undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}

function remaining(time: Date | null): number {
  return time === null ? 0 : time.getTime() - Date.now();
}

/** Waits for the work, or until the signal is aborted. */
async function unlessStopped(work: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve, reject) => {
    const stop = () => resolve();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, (error: unknown) => {
      if (signal.aborted) resolve();
      else reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
}
