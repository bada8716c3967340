import { setTimeout as delay } from 'node:timers/promises';

import { type Logger } from 'pino';

import { HttpProblem } from '../../http/problem.ts';
import { type CheckpointStore } from '../store/checkpointStore.ts';
import { type RunRecord, type RunStore } from '../store/runStore.ts';
import { runEndedBody } from '../webhooks/runEnded.ts';
import { type Webhooks } from '../webhooks/webhooks.ts';
import { LiveRun, type RunEnding, type StopReason } from './liveRun.ts';
import { type RunPlan } from './newRun.ts';
import { type RunExecution } from './runExecution.ts';
import { DEFAULT_RUN_LIMITS, type RunLimits } from './runLimits.ts';
import { RunSlots } from './runSlots.ts';

/** How often the end of a run that another process executes is looked for, in milliseconds. */
const REMOTE_POLL_MS = 150;

/** How long an ended resumable run is kept for readers that come back, in milliseconds. */
const RESUMABLE_MS = 120_000;

/** What somebody may ask of an active run (contract 001, "States and transitions"). */
export type CancelAction = 'interrupt' | 'rollback';

/** Makes the feedback links of a run, by key. */
export type FeedbackLinker = (runId: string, keys: readonly string[]) => Promise<Record<string, string>>;

/** The life of runs in this process: accepting, ordering within a thread, executing, cancelling, ending. */
export class RunService {
  readonly #runs: RunStore;
  readonly #checkpoints: CheckpointStore;
  readonly #execution: RunExecution;
  readonly #linkFeedback: FeedbackLinker;
  readonly #webhooks: Webhooks;
  readonly #limits: RunLimits;
  readonly #slots: RunSlots;
  readonly #log: Logger;
  readonly #live = new Map<string, LiveRun>();
  #closing = false;

  constructor(options: {
    runs: RunStore;
    checkpoints: CheckpointStore;
    execution: RunExecution;
    linkFeedback: FeedbackLinker;
    webhooks: Webhooks;
    limits?: Partial<RunLimits> | undefined;
    log: Logger;
  }) {
    this.#runs = options.runs;
    this.#checkpoints = options.checkpoints;
    this.#execution = options.execution;
    this.#linkFeedback = options.linkFeedback;
    this.#webhooks = options.webhooks;
    this.#limits = { ...DEFAULT_RUN_LIMITS, ...options.limits };
    this.#slots = new RunSlots(this.#limits.concurrentRuns);
    this.#log = options.log;
  }

  /** How many runs are in this process. */
  get activeCount(): number {
    return [...this.#live.values()].filter((live) => !live.channel.closed).length;
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

  /** A run in this process: active, or ended and still readable. */
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
    const live = new LiveRun({
      runId: newRun.runId,
      threadId: newRun.threadId,
      stateless: newRun.stateless,
      resumable: plan.resumable,
    });
    this.#live.set(live.runId, live);
    let before: RunRecord[];
    try {
      const accepted = await this.#runs.accept(newRun);
      live.record = accepted.run;
      before = accepted.before;
    } catch (error) {
      this.#live.delete(live.runId);
      live.finish(GONE);
      throw error;
    }
    if (plan.feedbackKeys.length > 0) {
      live.feedback = this.#linkFeedback(live.runId, plan.feedbackKeys).catch((error: unknown) => {
        this.#log.error({ err: error, runId: live.runId }, 'feedback links could not be made');
        return undefined;
      });
    }
    const strategy = newRun.multitaskStrategy;
    if (strategy === 'interrupt' || strategy === 'rollback') await this.#stopAll(before, strategy);
    void this.#run(live, before, plan.delaySeconds);
    return live;
  }

  /** Takes up a pending run that a dead process had accepted. */
  async adopt(record: RunRecord): Promise<boolean> {
    if (this.#closing || this.#live.has(record.run_id)) return false;
    const adopted = await this.#runs.adopt(record);
    if (adopted === undefined) return false;
    const kwargs = record.kwargs as { temporary?: boolean; resumable?: boolean };
    const live = new LiveRun({
      runId: record.run_id,
      threadId: record.thread_id,
      stateless: kwargs.temporary === true,
      resumable: kwargs.resumable === true,
    });
    live.record = adopted.run;
    this.#live.set(live.runId, live);
    void this.#run(live, adopted.before, 0);
    return true;
  }

  /** Asks active runs to stop, wherever they are executed. Resolves once that is noted, not when they have ended. */
  async cancel(records: readonly RunRecord[], action: CancelAction): Promise<void> {
    await this.#stopAll(records, action);
  }

  /** Like {@link cancel}, for a client that has gone: nobody is left to be told of a failure but the log. */
  cancelUnheard(record: RunRecord, action: CancelAction): void {
    this.#stopAll([record], action).catch((error: unknown) => {
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

  /** How a run ended: waits for it, also where another process executes it. `signal` gives the waiting up. */
  async ending(record: RunRecord, signal?: AbortSignal): Promise<RunEnding> {
    const live = this.#live.get(record.run_id);
    if (live !== undefined) return live.ended;
    let current: RunRecord | undefined = record;
    while (current !== undefined && isActive(current)) {
      await delay(REMOTE_POLL_MS, undefined, { signal });
      current = await this.#runs.find(record.thread_id, record.run_id);
    }
    return current === undefined ? GONE : storedEnding(current, this.#execution);
  }

  /**
   * Takes no new runs, lets those that execute go on for up to `timeoutMs`, then stops them. Runs that have not begun
   * stay pending: the next process of the deployment takes them up.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#closing = true;
    const lives = [...this.#live.values()];
    // Also those whose acceptance is under way: they have not begun either.
    for (const live of lives) if (!live.begun) live.stop('handover');
    const all = Promise.all(lives.map((live) => live.ended));
    const deadline = new AbortController();
    await Promise.race([
      all,
      delay(timeoutMs, undefined, { signal: deadline.signal }).catch(() => undefined),
    ]);
    deadline.abort();
    for (const live of lives) live.stop('shutdown');
    await all;
  }

  async #stopAll(records: readonly RunRecord[], action: CancelAction): Promise<void> {
    const elsewhere: string[] = [];
    for (const record of records) {
      const live = this.#live.get(record.run_id);
      if (live === undefined) elsewhere.push(record.run_id);
      else live.stop(action);
    }
    if (elsewhere.length > 0) await this.#runs.requestCancel(elsewhere, action);
  }

  /** From acceptance to end. Never throws. */
  async #run(live: LiveRun, before: readonly RunRecord[], delaySeconds: number): Promise<void> {
    let ending: RunEnding;
    let leaveSlot: (() => void) | undefined;
    try {
      if (delaySeconds > 0) await pause(delaySeconds * 1_000, live.signal);
      if (before.length > 0) await unlessStopped(this.#allEnded(before, live.signal), live.signal);
      leaveSlot = await this.#slots.take(live.signal);
      ending = live.stopReason === undefined ? await this.#execute(live) : await this.#settle(live);
    } catch (error) {
      this.#log.error({ err: error, runId: live.runId }, 'the end of a run could not be stored');
      const message = 'The end of the run could not be stored.';
      ending = { status: 'error', values: 'null', failure: { error: 'StorageError', message } };
    } finally {
      leaveSlot?.();
    }
    if (ending.failure !== undefined) live.channel.publish('error', JSON.stringify(ending.failure));
    live.finish(ending);
    const { webhook } = live.record.kwargs as { webhook?: string | null };
    if (webhook != null && ending.status !== 'handed_over')
      void this.#webhooks.deliver(webhook, runEndedBody(live, ending), live.runId);
    if (isResumable(live)) setTimeout(() => this.#live.delete(live.runId), RESUMABLE_MS).unref();
    else this.#live.delete(live.runId);
  }

  async #allEnded(records: readonly RunRecord[], signal: AbortSignal): Promise<void> {
    await Promise.all(records.map((record) => this.ending(record, signal)));
  }

  async #execute(live: LiveRun): Promise<RunEnding> {
    live.begun = true;
    const begun = await this.#runs.begin(live.runId);
    // Somebody else ended it, or its thread was removed, while it waited.
    if (begun === undefined) return GONE;
    live.record = begun;
    const remembered =
      !live.stateless && (await this.#checkpoints.rememberPending(live.threadId, live.runId));
    const { ending, thread } = await this.#execution.execute(live);
    if (ending.status === 'rolled_back') return this.#rollBack(live);
    const { status, values, failure } = ending;
    await this.#runs.finish(live.record, {
      status,
      thread,
      ...(failure !== undefined && { error: failure }),
      ...(live.stateless && { output: values }),
    });
    if (remembered) await this.#checkpoints.dropRemembered([live.runId]);
    return ending;
  }

  /** The end of a run that was stopped before it began: nothing of it was executed. */
  async #settle(live: LiveRun): Promise<RunEnding> {
    const reason = live.stopReason;
    if (reason === 'rollback') return this.#rollBack(live);
    const { ending, thread } = await this.#execution.outcome(live, undefined);
    if (reason === 'handover') return ending;
    await this.#runs.finish(live.record, {
      status: ending.status,
      thread,
      ...(ending.failure !== undefined && { error: ending.failure }),
    });
    return ending;
  }

  /** Takes a run back: its checkpoints, its record, and what it did to its thread. */
  async #rollBack(live: LiveRun): Promise<RunEnding> {
    if (!live.stateless) await this.#checkpoints.forgetRun(live.threadId, live.runId);
    const { ending, thread } = await this.#execution.outcome(live, undefined);
    await this.#runs.remove(live.record, thread);
    return ending;
  }
}

/** The ending of a run that is no more. */
const GONE: RunEnding = {
  status: 'rolled_back',
  values: 'null',
  failure: { error: 'RunRemoved', message: 'The run was rolled back or deleted.' },
};

export function isActive(record: Pick<RunRecord, 'status'>): boolean {
  return record.status === 'pending' || record.status === 'running';
}

function isResumable(live: LiveRun): boolean {
  return (live.record.kwargs as { resumable?: boolean }).resumable === true;
}

async function storedEnding(record: RunRecord, execution: RunExecution): Promise<RunEnding> {
  const status = record.status as RunEnding['status'];
  const failure = record.error ?? undefined;
  if (record.output !== null) return { status, values: JSON.stringify(record.output), failure };
  return { status, values: await execution.storedValues(record), failure };
}

/** Waits, or until the signal is aborted. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
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
