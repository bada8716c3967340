import { setTimeout as delay } from 'node:timers/promises';

import type { Logger } from 'pino';

import type { CheckpointStore } from '../store/checkpointStore.ts';
import { throughOutage } from '../store/databaseAway.ts';
import type { RunFootprint } from '../store/runFootprint.ts';
import type { RunEnds } from '../store/runEnds.ts';
import { isActive, type RunRecord, type RunRecords } from '../store/runRecords.ts';
import type { Begun, RunStore } from '../store/runStore.ts';
import type { LiveRun, RunEnding, StopReason } from './liveRun.ts';
import type { RunExecution } from './runExecution.ts';
import type { ExecutionOutcome, RunOutcomes } from './runOutcome.ts';
import type { RunSlots } from './runSlots.ts';

/** The default limit of lost attempts. Without one, a run that kills its process would do so forever. */
const ATTEMPTS_MAX = 3;

export interface RunLifeParts {
  readonly runs: RunStore;
  readonly records: RunRecords;
  readonly ends: RunEnds;
  readonly lease: { readonly holds: boolean };
  readonly checkpoints: CheckpointStore;
  readonly footprint: RunFootprint;
  readonly execution: RunExecution;
  readonly outcomes: RunOutcomes;
  /** How many attempts a run may lose before it fails. Default {@link ATTEMPTS_MAX}. */
  readonly maxAttempts?: number;
  readonly log: Logger;
}

/** A run that began when it was accepted, with the function that returns its slot. */
export interface Started extends Begun {
  readonly leaveSlot: () => void;
}

/**
 * One run in this process: waits for its start time and its turn, begins, executes, and stores its end. Each database
 * change counts only while this process owns the run in the attempt it knows. It is retried while the database is
 * away and the lease holds.
 */
export class RunLife {
  readonly #parts: RunLifeParts;
  readonly #slots: RunSlots;
  readonly #over: (record: RunRecord, signal: AbortSignal) => Promise<void>;

  /** `over` waits until a run has ended, in this process or another. */
  constructor(
    parts: RunLifeParts,
    slots: RunSlots,
    over: (record: RunRecord, signal: AbortSignal) => Promise<void>,
  ) {
    this.#parts = parts;
    this.#slots = slots;
    this.#over = over;
  }

  /**
   * Takes a run to its end, or until it continues in another process. `before`: earlier runs of its thread.
   * `started`: set if it has begun already.
   * @throws the database's error if its end could not be stored.
   */
  async endingOf(
    live: LiveRun,
    before: readonly RunRecord[],
    started: Started | undefined,
  ): Promise<RunEnding> {
    if (started !== undefined) {
      try {
        return await this.#execute(live, started);
      } finally {
        started.leaveSlot();
      }
    }
    await pauseUntil(live.record.start_after, live.signal);
    for (let earlier = before; ;) {
      await unlessStopped(Promise.all(earlier.map((run) => this.#over(run, live.signal))), live.signal);
      if (this.#isExhausted(live)) return this.#settle(live);
      const leaveSlot = await this.#slots.take(live.signal);
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
      // Another process ended or claimed it while it waited.
      if (current.status !== 'pending' || current.owner !== live.record.owner) return LOST;
      const active = await this.#store(() => this.#parts.records.activeOfThread(live.threadId));
      earlier = active.filter((other) => BigInt(other.sequence) < BigInt(current.sequence));
    }
  }

  async #execute(live: LiveRun, { blank, keptPending }: Begun): Promise<RunEnding> {
    return this.#conclude(live, await this.#parts.execution.execute(live, blank), keptPending);
  }

  /** Ends a run that does not begin: it was stopped before, or its attempts are used up. */
  async #settle(live: LiveRun): Promise<RunEnding> {
    if (live.stopReason === 'rollback') return this.#rollBack(live);
    const { attempt, lost_attempts: lost } = live.record;
    const exhausted = {
      error: 'AttemptsExhausted',
      message:
        `The run was begun ${attempt} times, and ${lost} times its process died or stood still before it ` +
        `ended: it is given up after ${lost}. What it did until then remains.`,
    };
    const outcome = await this.#parts.outcomes.of(
      live,
      live.stopReason === undefined ? exhausted : undefined,
    );
    return this.#conclude(live, outcome, attempt > 0);
  }

  /** Stores how a run ended. If a cancel was stored first, the cancel counts, and the outcome is computed again. */
  async #conclude(live: LiveRun, outcome: ExecutionOutcome, keptPending: boolean): Promise<RunEnding> {
    const { ending, thread, result } = outcome;
    const { ends, runs } = this.#parts;
    if (ending.status === 'lost') return ending;
    if (ending.status === 'handed_over') {
      await this.#store(() => runs.release(live.record));
      return ending;
    }
    if (ending.status === 'rolled_back') return this.#rollBack(live);
    const { status, values, failure } = ending;
    const output = live.stateless ? values : undefined;
    const stored = await this.#store(() =>
      ends.finish(live.record, { status, thread, error: failure, output }),
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

  /** The stored cancel of a run that this process still owns in the attempt it knows. */
  async #notedCancel(live: LiveRun): Promise<StopReason | undefined> {
    const current = await this.#store(() => this.#parts.records.find(live.threadId, live.runId));
    if (current === undefined || !isActive(current)) return undefined;
    const { owner, attempt } = live.record;
    if (current.owner !== owner || current.attempt !== attempt) return undefined;
    return (current.cancel_action ?? undefined) as StopReason | undefined;
  }

  /** Rolls back a run: its checkpoints, its record, and its changes to the thread. */
  async #rollBack(live: LiveRun): Promise<RunEnding> {
    const { ends, footprint, outcomes } = this.#parts;
    if (!live.stateless && !(await this.#store(() => footprint.rollBack(live.record)))) return LOST;
    const { ending, thread } = await outcomes.of(live, undefined);
    if (!(await this.#store(() => ends.finishRolledBack(live.record, thread)))) return LOST;
    await this.#tidy(live, false);
    return ending;
  }

  /** Removes what an ended run leaves behind. Because the run has ended, a failure is only logged. */
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

  async #store<T>(work: () => Promise<T>): Promise<T> {
    return throughOutage(work, () => this.#parts.lease.holds);
  }
}

/** The ending of a run that was removed. */
export const GONE: RunEnding = {
  status: 'rolled_back',
  values: 'null',
  failure: { error: 'RunRemoved', message: 'The run was rolled back or deleted.' },
};

/** The ending, in this process, of a run that another process may be executing. */
export const LOST: RunEnding = { status: 'lost', values: 'null', failure: undefined };

/** The longest that one timer can wait, in milliseconds. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Waits until a time, or until the signal is aborted. */
async function pauseUntil(time: Date | null, signal: AbortSignal): Promise<void> {
  const remaining = () => (time === null ? 0 : time.getTime() - Date.now());
  for (let left = remaining(); left > 0 && !signal.aborted; left = remaining()) {
    await delay(Math.min(left, TIMER_MAX_MS), undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}

/** Waits for the work, or until the signal is aborted. */
async function unlessStopped(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([work, stopped]).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
