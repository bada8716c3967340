import { setTimeout as delay } from 'node:timers/promises';

import type { Logger } from 'pino';

import { HttpProblem } from '../../http/problem.ts';
import type { RunRecord } from '../store/runRecords.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import {
  type FeedbackLinks,
  hasMoved,
  LiveRun,
  NewRuns,
  type RunEnding,
  RunMoved,
  type StopReason,
} from './liveRun.ts';
import type { RunPlan } from './newRun.ts';
import type { RunOutcomes } from './runOutcome.ts';
import { GONE, isActive, LOST, RunLife, type RunLifeParts } from './runLife.ts';
import { DEFAULT_RUN_LIMITS, type RunLimits, RunSlots } from './runSlots.ts';
import type { Watch } from './watch.ts';
import { wireRun } from '../http/wire.ts';

/** What somebody may ask of an active run (contract 001, "States and transitions"). */
export type CancelAction = 'interrupt' | 'rollback';

/** Makes the feedback links of a run, by key. */
type FeedbackLinker = (runId: string, keys: readonly string[]) => Promise<FeedbackLinks>;

/** What a {@link RunService} works with. */
export interface RunServiceParts extends Omit<RunLifeParts, 'over' | 'slots'> {
  /** Waits for the ends of runs that other processes execute. */
  readonly endsElsewhere: Watch;
  readonly linkFeedback: FeedbackLinker;
  readonly webhooks: Webhooks;
  readonly limits?: Partial<RunLimits>;
}

/**
 * The runs of this process: accepted, taken up, cancelled, waited for, handed over. Whatever it
 * writes about a run counts only while the run is this process's, in the attempt that it knows: a run that has become
 * another's is left alone, and who waits for it here hears of its end there.
 */
export class RunService {
  /** Told of every run that this process accepts or takes up, before it begins. */
  readonly newRuns = new NewRuns();
  readonly #parts: RunServiceParts;
  readonly #life: RunLife;
  readonly #limits: RunLimits;
  readonly #log: Logger;
  readonly #live = new Map<string, LiveRun>();
  #closing = false;
  #unsettled = false;

  constructor(parts: RunServiceParts) {
    this.#parts = parts;
    this.#limits = { ...DEFAULT_RUN_LIMITS, ...parts.limits };
    this.#life = new RunLife({
      ...parts,
      slots: new RunSlots(this.#limits.concurrentRuns),
      over: (record, signal) => this.#over(record, signal),
    });
    this.#log = parts.log;
  }

  /** Whether no run is in this process. */
  get isIdle(): boolean {
    return this.#live.size === 0;
  }

  /** How much this process takes on. */
  get limits(): RunLimits {
    return this.#limits;
  }

  get #pendingCount(): number {
    return [...this.#live.values()].filter((live) => !live.begun && !live.channel.closed).length;
  }

  /** Whether this process takes no more runs. */
  get closing(): boolean {
    return this.#closing;
  }

  /** An active run in this process. */
  live(runId: string): LiveRun | undefined {
    return this.#live.get(runId);
  }

  /**
   * Accepts a run and starts it at once, or as soon as the multitask strategy lets it (contract 001, "States and
   * transitions"). It is stored before this resolves.
   * @throws HttpProblem 404 for an unknown thread, 409 for strategy `reject` on a busy one, 429 where too many runs
   * are pending, 503 while shutting down.
   */
  async start(plan: RunPlan): Promise<LiveRun> {
    if (this.#closing)
      throw new HttpProblem(503, 'The server is shutting down.', { headers: { 'retry-after': '1' } });
    if (this.#pendingCount >= this.#limits.pendingRuns)
      throw new HttpProblem(
        429,
        `${this.#limits.pendingRuns} runs are pending already: this server takes no more until some have begun.`,
        { headers: { 'retry-after': '1' } },
      );
    const { newRun } = plan;
    const live = this.#enter(newRun.runId, newRun.threadId, {
      temporary: newRun.stateless,
      resumable: plan.resumable,
      feedback_keys: plan.feedbackKeys,
    });
    let before: RunRecord[];
    try {
      const accepted = await this.#parts.runs.accept(newRun);
      live.record = accepted.run;
      before = accepted.before;
    } catch (error) {
      this.#live.delete(live.runId);
      live.finish(GONE);
      // It may have been stored all the same: then it is taken up like any run that nobody executes.
      if (!(error instanceof HttpProblem)) this.noteUnsettled();
      throw error;
    }
    void live.makeFeedbackLinks();
    const strategy = newRun.multitaskStrategy;
    if (strategy === 'interrupt' || strategy === 'rollback') {
      for (const run of before) this.stop(run.run_id, strategy);
    }
    this.newRuns.tell(live);
    void this.#run(live, before);
    return live;
  }

  /** Takes up a run that was claimed: another process accepted or began it. */
  adopt(record: RunRecord): void {
    const live = this.#enter(record.run_id, record.thread_id, record.kwargs);
    live.record = record;
    if (record.cancel_action !== null) live.stop(record.cancel_action as CancelAction);
    this.#log.info(
      { runId: record.run_id, attempt: record.attempt },
      'took over a run that no process executed',
    );
    this.newRuns.tell(live);
    void this.#run(live, []);
  }

  /**
   * Asks active runs to stop, wherever they are executed. Resolves once that is stored, not when they have ended: a
   * request that was acknowledged holds also for who takes the run up when this process dies. Answers how many were
   * still active: the others have ended meanwhile, and stay as they ended.
   */
  async cancel(records: readonly RunRecord[], action: CancelAction): Promise<number> {
    if (records.length === 0) return 0;
    const runIds = records.map((record) => record.run_id);
    const noted = await this.#parts.runs.requestCancel(runIds, action);
    for (const runId of noted) this.stop(runId, action);
    return noted.length;
  }

  /** Like {@link cancel}, for a client that has gone: nobody is left to be told of a failure but the log. */
  cancelUnheard(record: RunRecord, action: CancelAction): void {
    this.cancel([record], action).catch((error: unknown) => {
      this.#log.error(
        { err: error, runId: record.run_id },
        'a run could not be cancelled when its client went away',
      );
    });
  }

  /** Stops a run of this process. */
  stop(runId: string, reason: StopReason): void {
    this.#live.get(runId)?.stop(reason);
  }

  /** The lease on this process's runs is void: others may be executing them, so all that have begun stop here. */
  loseAll(): void {
    const begun = [...this.#live.values()].filter((live) => live.begun && !live.isLeaving);
    if (begun.length > 0)
      this.#log.warn({ runs: begun.length }, 'the lease on the runs of this process ran out');
    for (const live of begun) live.stop('lost');
    this.noteUnsettled();
  }

  /** Something about this process's runs may not be stored as it is: they are to be looked through. */
  noteUnsettled(): void {
    this.#unsettled = true;
  }

  /** The runs that are in this process, where they are to be looked through; asking says that they will be. */
  takeUnsettled(): string[] | undefined {
    if (!this.#unsettled) return undefined;
    this.#unsettled = false;
    return [...this.#live.keys()];
  }

  /**
   * How a run ended: waits for it, also where another process executes it. `signal` gives the waiting up.
   * @throws RunMoved where this process hands the run over and ends, so that nobody is left here to wait.
   */
  async ending(record: RunRecord, signal?: AbortSignal): Promise<RunEnding> {
    const ending = await this.#live.get(record.run_id)?.ended;
    if (ending !== undefined && !hasMoved(ending)) return ending;
    await this.#over(record, signal);
    const current = await this.#parts.records.find(record.thread_id, record.run_id);
    return current === undefined ? GONE : storedEnding(current, this.#parts.outcomes);
  }

  /**
   * Takes no new runs, lets those that execute go on for up to `timeoutMs`, then hands them over where they stand: the
   * next process of the deployment takes them up, and no attempt counts as lost. Runs that have not begun are handed
   * over at once. `hurry` ends the patience.
   */
  async drain(timeoutMs: number, hurry?: AbortSignal): Promise<void> {
    this.#closing = true;
    const lives = [...this.#live.values()];
    // Also those whose acceptance is under way: they have not begun either.
    for (const live of lives) if (!live.begun) live.stop('handover');
    const all = Promise.all(lives.map((live) => live.ended));
    const over = new AbortController();
    const noLonger = AbortSignal.any(hurry === undefined ? [over.signal] : [over.signal, hurry]);
    await Promise.race([all, delay(timeoutMs, undefined, { signal: noLonger }).catch(() => undefined)]);
    over.abort();
    for (const live of lives) live.stop('handover');
    await all;
    this.#parts.endsElsewhere.stop();
  }

  /** Waits until the run is over, wherever it is executed. */
  async #over(record: RunRecord, signal?: AbortSignal): Promise<void> {
    if (!isActive(record)) return;
    const ending = await this.#live.get(record.run_id)?.ended;
    if (ending !== undefined && !hasMoved(ending)) return;
    if (this.#closing) throw new RunMoved(record.run_id);
    await this.#parts.endsElsewhere.come(record.run_id, signal);
  }

  /** A place for a run in this process. */
  #enter(runId: string, threadId: string, kwargs: RunTraits): LiveRun {
    const keys = kwargs.feedback_keys ?? [];
    const live = new LiveRun({
      runId,
      threadId,
      stateless: kwargs.temporary === true,
      resumable: kwargs.resumable === true,
      feedback: async () => (keys.length === 0 ? undefined : this.#linksOf(runId, keys)),
    });
    this.#live.set(runId, live);
    return live;
  }

  async #linksOf(runId: string, keys: readonly string[]): Promise<FeedbackLinks | undefined> {
    try {
      return await this.#parts.linkFeedback(runId, keys);
    } catch (error) {
      this.#log.error({ err: error, runId }, 'feedback links could not be made');
      return undefined;
    }
  }

  /** From acceptance, or from being taken up, to the end. Never throws. */
  async #run(live: LiveRun, before: readonly RunRecord[]): Promise<void> {
    let ending: RunEnding;
    try {
      ending = await this.#life.endingOf(live, before);
    } catch (error) {
      this.#log.error({ err: error, runId: live.runId }, 'the end of a run could not be stored');
      ending = LOST;
    }
    const moved = hasMoved(ending);
    if (moved) this.noteUnsettled();
    else if (ending.failure !== undefined) live.channel.publish('error', JSON.stringify(ending.failure));
    live.finish(ending);
    const { webhook } = live.record.kwargs as { webhook?: string | null };
    if (webhook != null && !moved)
      void this.#parts.webhooks.deliver(webhook, runEndedBody(live, ending), live.runId);
    this.#live.delete(live.runId);
  }
}

/** What of a run's `kwargs` decides how it is kept in a process. */
interface RunTraits {
  readonly temporary?: boolean;
  readonly resumable?: boolean;
  readonly feedback_keys?: readonly string[] | null;
}

async function storedEnding(record: RunRecord, outcomes: RunOutcomes): Promise<RunEnding> {
  const status = record.status as RunEnding['status'];
  const failure = record.error ?? undefined;
  if (failure !== undefined) return { status, values: 'null', failure };
  if (record.output !== null) return { status, values: JSON.stringify(record.output), failure };
  return { status, values: await outcomes.storedValues(record), failure };
}

/** The body that a run's webhook gets: the run as it ended, without its `kwargs`, with its values. JSON text. */
function runEndedBody(live: LiveRun, ending: RunEnding): string {
  const { kwargs: _kwargs, ...run } = wireRun(live.record);
  const { status, failure } = ending;
  const answer = JSON.stringify({ ...run, status, ...(failure !== undefined && { error: failure }) });
  // The values are JSON already.
  return `${answer.slice(0, -1)},"values":${ending.values}}`;
}
