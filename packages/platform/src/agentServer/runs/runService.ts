import { EventEmitter } from 'node:events';

import type { FeedbackLinks } from '@slipway/contract/runApi/feedback';
import type { Logger } from 'pino';

import { HttpProblem } from '../../http/problem.ts';
import { isActive, type RunRecord } from '../store/agentDatabase.ts';
import type { AcceptedRun, RunStore } from '../store/runStore.ts';
import { pause } from '../../pause.ts';
import { Slots } from '../../slots.ts';
import type { RunEndReports } from '../webhooks/runEndReports.ts';
import {
  continuesElsewhere,
  LiveRun,
  type LiveRunKwargs,
  recordedEnding,
  type RunEnding,
  RunMovedError,
  type StopReason,
} from './liveRun.ts';
import type { RunPlan } from './newRun.ts';
import type { RunOutcomes } from './runOutcome.ts';
import { REMOVED_ENDING, LOST_ENDING, RunLifecycle, type RunParts, type StartedRun } from './runLifecycle.ts';
import { DEFAULT_RUN_LIMITS, type RunLimits } from './runLimits.ts';
import type { ChangePoller } from './changePoller.ts';

/** How a client may cancel an active run (contract 001, "States and transitions"). */
export type CancelAction = 'interrupt' | 'rollback';

export interface RunServiceParts extends RunParts {
  readonly remoteRunEnds: ChangePoller;
  readonly createFeedbackLinks: (runId: string, keys: readonly string[]) => Promise<FeedbackLinks>;
  readonly endReports: RunEndReports;
  readonly limits?: Partial<RunLimits>;
}

/** A run, and whether to begin it at once. */
type RunToAccept = Parameters<RunStore['accept']>;

/**
 * The runs of this process: accepts, claims, cancels, awaits and hands them over. A write about a run counts only
 * while this process owns the run in the attempt it knows. If another process takes a run over, the waits here
 * resolve with its end there.
 */
export class RunService {
  /** Emits every run that this process accepts or claims, by thread id. A delayed one again when it is due. */
  readonly newRuns = new EventEmitter<Record<string, [LiveRun]>>().setMaxListeners(0);
  readonly limits: RunLimits;
  readonly #parts: RunServiceParts;
  readonly #lifecycle: RunLifecycle;
  readonly #slots: Slots;
  readonly #log: Logger;
  readonly #live = new Map<string, LiveRun>();
  #closing = false;
  #needsReconciliation = false;

  constructor(parts: RunServiceParts) {
    this.#parts = parts;
    const { concurrentRuns, pendingRuns, runSeconds } = DEFAULT_RUN_LIMITS;
    const { limits = {} } = parts;
    this.limits = {
      concurrentRuns: limits.concurrentRuns ?? concurrentRuns,
      pendingRuns: limits.pendingRuns ?? pendingRuns,
      runSeconds: limits.runSeconds ?? runSeconds,
    };
    this.#slots = new Slots(this.limits.concurrentRuns);
    this.#lifecycle = new RunLifecycle({
      ...parts,
      slots: this.#slots,
      waitForEnd: (record, signal) => this.#waitForEnd(record, signal),
      onDue: (live) => this.newRuns.emit(live.threadId, live),
    });
    this.#log = parts.log;
  }

  get isIdle(): boolean {
    return this.#live.size === 0;
  }

  get #pendingCount(): number {
    return [...this.#live.values()].filter((live) => !live.isExecuting && !live.channel.closed).length;
  }

  get closing(): boolean {
    return this.#closing;
  }

  findLive(runId: string): LiveRun | undefined {
    return this.#live.get(runId);
  }

  /**
   * Accepts a run and starts it at once, or when the multitask strategy allows (contract 001, "States and
   * transitions"). Resolves after the run is stored.
   * @throws HttpProblem 404 for an unknown thread, 409 for strategy `reject` on a busy one, 429 if too many runs are
   * pending, 503 while shutting down.
   */
  async start(plan: RunPlan): Promise<LiveRun> {
    this.#requireCapacity(1);
    return this.#accept(plan, (run) => this.#parts.runs.accept(...run));
  }

  /** Starts runs without threads: all or none. @throws HttpProblem as {@link start}. */
  async startAll(plans: readonly RunPlan[]): Promise<LiveRun[]> {
    this.#requireCapacity(plans.length);
    const runs: RunToAccept[] = [];
    // They are stored together, after each has been added.
    const stored = Promise.resolve().then(() => this.#parts.runs.acceptAll(runs));
    const store = async (run: RunToAccept) => {
      const index = runs.push(run) - 1;
      return (await stored)[index] as AcceptedRun;
    };
    return Promise.all(plans.map((plan) => this.#accept(plan, store)));
  }

  /** @throws HttpProblem 429 if too many runs are pending for so many more, 503 while shutting down. */
  #requireCapacity(count: number): void {
    if (this.#closing)
      throw new HttpProblem(503, 'The server is shutting down.', { headers: { 'retry-after': '1' } });
    const { pendingRuns } = this.limits;
    const pending = this.#pendingCount;
    // Those that find a free slot are not pending. A single run may have to wait for its thread.
    if (pending + Math.max(count - this.#slots.free, 1) <= pendingRuns) return;
    throw new HttpProblem(
      429,
      `${pending} runs are pending, of at most ${pendingRuns}: this server takes no more until some have begun.`,
      { headers: { 'retry-after': '1' } },
    );
  }

  async #accept({ newRun }: RunPlan, store: (run: RunToAccept) => Promise<AcceptedRun>): Promise<LiveRun> {
    const live = this.#register(newRun.runId, newRun.threadId, newRun.kwargs);
    const releaseSlot = this.#slots.tryAcquire();
    let accepted: AcceptedRun | undefined;
    try {
      accepted = await store([newRun, releaseSlot !== undefined]);
    } catch (error) {
      this.#live.delete(live.runId);
      live.finish(REMOVED_ENDING);
      // It may have been stored all the same. Then it is claimed like any run that no process executes.
      if (!(error instanceof HttpProblem)) this.requestReconciliation();
      throw error;
    } finally {
      if (accepted?.begunRun === undefined) releaseSlot?.();
    }
    const { run, earlierRuns, begunRun } = accepted;
    live.record = run;
    live.isExecuting = begunRun !== undefined;
    void live.makeFeedbackLinks();
    const strategy = newRun.multitaskStrategy;
    if (strategy === 'interrupt' || strategy === 'rollback') {
      for (const earlier of earlierRuns) this.stop(earlier.run_id, strategy);
    }
    this.newRuns.emit(live.threadId, live);
    void this.#run(live, earlierRuns, begunRun && releaseSlot && { ...begunRun, releaseSlot });
    return live;
  }

  /** Executes a claimed run, which another process accepted or began. */
  executeClaimed(record: RunRecord): void {
    const live = this.#register(record.run_id, record.thread_id, record.kwargs);
    live.record = record;
    if (record.cancel_action !== null) live.stop(record.cancel_action as CancelAction);
    this.#log.info(
      { runId: record.run_id, attempt: record.attempt },
      'took over a run that no process executed',
    );
    this.newRuns.emit(live.threadId, live);
    void this.#run(live, [], undefined);
  }

  /**
   * Asks active runs to stop, in this process or another. Resolves once the request is stored, not when they have
   * ended, so it survives this process's death. Returns how many were still active.
   */
  async cancel(records: readonly RunRecord[], action: CancelAction): Promise<number> {
    if (records.length === 0) return 0;
    const runIds = records.map((record) => record.run_id);
    const noted = await this.#parts.runs.requestCancel(runIds, action);
    for (const runId of noted) this.stop(runId, action);
    return noted.length;
  }

  /** Interrupts a run whose client disconnected. A failure is only logged. */
  cancelAfterDisconnect(record: RunRecord): void {
    this.cancel([record], 'interrupt').catch((error: unknown) => {
      this.#log.error(
        { err: error, runId: record.run_id },
        'a run could not be cancelled when its client went away',
      );
    });
  }

  stop(runId: string, reason: StopReason): void {
    this.#live.get(runId)?.stop(reason);
  }

  /** @throws RunMovedError if this process ends, and another one continues the run. */
  requireFollowable(record: RunRecord): void {
    const isExecuting = this.#live.get(record.run_id)?.isExecuting === true;
    if (this.#closing && isActive(record) && !isExecuting) throw new RunMovedError(`Run ${record.run_id}`);
  }

  /** The lease has expired: other processes may be executing this process's runs, so all that have begun stop here. */
  stopLostRuns(): void {
    for (const live of this.#live.values())
      if (live.isExecuting && !live.isMovingToAnotherProcess) live.stop('lost');
    this.requestReconciliation();
  }

  /** The database may disagree with this process about its runs: compare them soon. */
  requestReconciliation(): void {
    this.#needsReconciliation = true;
  }

  /** Whether to compare them; resets the flag. */
  takeReconciliationRequest(): boolean {
    const isRequested = this.#needsReconciliation;
    this.#needsReconciliation = false;
    return isRequested;
  }

  /**
   * Waits for the end of a run, in this process or another. `signal` ends the wait.
   * @throws RunMovedError if this process hands the run over and ends.
   */
  async waitForEnding(record: RunRecord, signal?: AbortSignal): Promise<RunEnding> {
    const ending = await this.#live.get(record.run_id)?.ended;
    if (ending !== undefined && !continuesElsewhere(ending)) return ending;
    await this.#waitForEnd(record, signal);
    const current = await this.#parts.runs.find(record.thread_id, record.run_id);
    return current === undefined ? REMOVED_ENDING : storedEnding(current, this.#parts.outcomes);
  }

  /**
   * Accepts no new runs. Lets running ones continue for up to `timeoutMs` or until `hurrySignal`, then hands them over to
   * the next process of the deployment; no attempt counts as lost. Runs that have not begun are handed over at once.
   */
  async drain(timeoutMs: number, hurrySignal?: AbortSignal): Promise<void> {
    this.#closing = true;
    const lives = [...this.#live.values()];
    // Also those that are still being accepted: they have not begun either.
    for (const live of lives) if (!live.isExecuting) live.stop('handover');
    const all = Promise.all(lives.map((live) => live.ended));
    const drained = new AbortController();
    const waitSignal = AbortSignal.any(
      hurrySignal === undefined ? [drained.signal] : [drained.signal, hurrySignal],
    );
    await Promise.race([all, pause(timeoutMs, waitSignal)]);
    drained.abort();
    for (const live of lives) live.stop('handover');
    await all;
    this.#parts.remoteRunEnds.stop();
  }

  async #waitForEnd(record: RunRecord, signal?: AbortSignal): Promise<void> {
    if (!isActive(record)) return;
    const ending = await this.#live.get(record.run_id)?.ended;
    if (ending !== undefined && !continuesElsewhere(ending)) return;
    this.requireFollowable(record);
    await this.#parts.remoteRunEnds.waitFor(record.run_id, signal);
  }

  #register(runId: string, threadId: string, kwargs: LiveRunKwargs): LiveRun {
    const live = new LiveRun(runId, threadId, kwargs, () => this.createFeedbackLinks(runId, kwargs));
    this.#live.set(runId, live);
    return live;
  }

  /** New links for a run's feedback keys; `undefined` if it has none, or they could not be made. */
  async createFeedbackLinks(runId: string, kwargs: LiveRunKwargs): Promise<FeedbackLinks | undefined> {
    const keys = kwargs.feedback_keys ?? [];
    if (keys.length === 0) return undefined;
    try {
      return await this.#parts.createFeedbackLinks(runId, keys);
    } catch (error) {
      this.#log.error({ err: error, runId }, 'feedback links could not be made');
      return undefined;
    }
  }

  /** Takes a run from acceptance or claim to its end. Never throws. */
  async #run(
    live: LiveRun,
    earlierRuns: readonly RunRecord[],
    started: StartedRun | undefined,
  ): Promise<void> {
    let ending: RunEnding;
    try {
      ending = await this.#lifecycle.runToEnd(live, earlierRuns, started);
    } catch (error) {
      this.#log.error({ err: error, runId: live.runId }, 'the end of a run could not be stored');
      ending = LOST_ENDING;
    }
    const moved = continuesElsewhere(ending);
    if (ending.status === 'lost')
      this.#log.warn({ runId: live.runId }, 'this process lost a run: it stopped it');
    if (moved) this.requestReconciliation();
    else if (ending.failure !== undefined) live.channel.publish('error', JSON.stringify(ending.failure));
    live.finish(ending);
    if (!moved) void this.#parts.endReports.send(live.record, ending);
    // A lost run may have been claimed again meanwhile.
    if (this.#live.get(live.runId) === live) this.#live.delete(live.runId);
  }
}

async function storedEnding(record: RunRecord, outcomes: RunOutcomes): Promise<RunEnding> {
  const recorded = recordedEnding(record);
  if (record.error !== null || record.output !== null) return recorded;
  return { ...recorded, values: await outcomes.storedValues(record) };
}
