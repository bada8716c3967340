import type { FeedbackLinks } from '@slipway/contract/runApi/feedback';

import { HttpProblem } from '../../http/problem.ts';
import { encodeEvent } from '../../http/serverSentEvents.ts';
import type { RunFailure, RunRecord } from '../store/agentDatabase.ts';
import type { StreamEvent } from '../store/eventStore.ts';
import { EventChannel, type Subscriber } from './eventChannel.ts';
import type { EventLog } from './eventLog.ts';
import type { Kwargs } from './newRun.ts';

/** Why a run stops. `handover`: another process will claim it. `lost`: one may have, so nothing is changed here. */
export type StopReason = 'interrupt' | 'rollback' | 'timeout' | 'handover' | 'lost';

/** How a run ended. `handed_over` and `lost` end it only in this process: it continues in another. */
export interface RunEnding {
  readonly status: 'success' | 'error' | 'timeout' | 'interrupted' | 'rolled_back' | 'handed_over' | 'lost';
  /** JSON text: the final values of the graph, or of its last completed step. */
  readonly values: string;
  readonly failure: RunFailure | undefined;
}

/** How an ended run has ended, by its record; its values are `null` there if a checkpoint has them. */
export function recordedEnding({ status, error, output }: RunRecord): RunEnding {
  return {
    status: status as RunEnding['status'],
    values: JSON.stringify(output),
    failure: error ?? undefined,
  };
}

/** Whether the run continues in another process. */
export function continuesElsewhere(ending: RunEnding): boolean {
  return ending.status === 'handed_over' || ending.status === 'lost';
}

/** The `kwargs` that decide how a process keeps a run. */
export type LiveRunKwargs = Partial<Pick<Kwargs, 'temporary' | 'resumable' | 'feedback_keys'>>;

/** A run in this process, from its acceptance until it ends or continues in another process. */
export class LiveRun {
  readonly runId: string;
  readonly threadId: string;
  readonly stateless: boolean;
  readonly resumable: boolean;
  readonly channel = new EventChannel();
  /** Whether this process executes it, or is about to. */
  isExecuting = false;
  #end: (ending: RunEnding) => void = () => undefined;
  /** Resolves when the run has ended and everything about it is stored. Never rejects. */
  readonly ended = new Promise<RunEnding>((resolve) => (this.#end = resolve));
  readonly #abort = new AbortController();
  readonly #feedback: () => Promise<FeedbackLinks | undefined>;
  #links: Promise<FeedbackLinks | undefined> | undefined;
  #log: EventLog | undefined;
  #openLog: (() => Promise<EventLog>) | undefined;
  #record: RunRecord | undefined;
  #stopReason: StopReason | undefined;

  /** `feedback` makes the links of the run's feedback keys, if it has any; called at most once. */
  constructor(
    runId: string,
    threadId: string,
    kwargs: LiveRunKwargs,
    feedback: () => Promise<FeedbackLinks | undefined>,
  ) {
    this.runId = runId;
    this.threadId = threadId;
    this.stateless = kwargs.temporary === true;
    this.resumable = kwargs.resumable === true;
    this.#feedback = feedback;
  }

  /** The stored run. Set when the run is accepted. */
  get record(): RunRecord {
    if (this.#record === undefined) throw new Error(`Run ${this.runId} is not accepted yet.`);
    return this.#record;
  }

  set record(record: RunRecord) {
    this.#record = record;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get stopReason(): StopReason | undefined {
    return this.#stopReason;
  }

  get isMovingToAnotherProcess(): boolean {
    return this.#stopReason === 'handover' || this.#stopReason === 'lost';
  }

  /** Makes the feedback links now, so that they exist when a client follows the run. */
  makeFeedbackLinks(): Promise<FeedbackLinks | undefined> {
    return (this.#links ??= this.#feedback());
  }

  /** Asks the run to stop. The first reason counts, but rollback overrides interrupt and timeout, and lost all. */
  stop(reason: StopReason): void {
    const keepsWork = this.#stopReason === 'interrupt' || this.#stopReason === 'timeout';
    const overrides = reason === 'lost' || (keepsWork && reason === 'rollback');
    if (this.#stopReason === undefined || overrides) this.#stopReason = reason;
    this.#abort.abort(new DOMException(`Run stopped: ${reason}`, 'AbortError'));
  }

  /** Aborts whatever the graph still does after the run's end. */
  abortGraph(): void {
    this.#abort.abort(new DOMException('The run has ended', 'AbortError'));
  }

  /** Ends the waits and the streams. If the run continues in another process, they are broken off. */
  finish(ending: RunEnding): void {
    this.#end(ending);
    this.channel.close(continuesElsewhere(ending) ? new RunMovedError(`Run ${this.runId}`) : undefined);
  }

  /** The log that stores the events of this attempt, set at its start. */
  set log(log: EventLog) {
    this.#log = log;
  }

  /** Opens the log later, on demand. `undefined`: no longer possible. */
  set logLater(open: (() => Promise<EventLog>) | undefined) {
    this.#openLog = open;
  }

  /** Stores the events of this attempt from now on, for readers in other processes. */
  startStoringEvents(): void {
    const open = this.#openLog;
    this.#openLog = undefined;
    open?.().then(
      (log) => (this.#log = log),
      () => this.stop('lost'),
    );
  }

  /** Sends an event to every reader: at once, or if events are stored, after storing it. */
  publish(event: string, data: string): void {
    if (this.#log === undefined) this.channel.publish(event, data);
    else this.#log.publish(event, data);
  }

  /** Resolves when the published events have reached the channel or failed. */
  async waitUntilPublished(): Promise<void> {
    await this.#log?.waitUntilStored();
  }

  /** Resolves when more can be published without filling memory. */
  async waitForCapacity(): Promise<void> {
    await this.#log?.waitForCapacity();
  }

  /**
   * A stream of this run (contract 001, "Events"): run id and attempt, the feedback links if any, the stored events
   * that `replay` reads, then what is published from now on. `accepts` as in {@link EventChannel}.
   */
  async follow(
    options: { replay?: () => Promise<readonly StreamEvent[]>; accepts?: (event: string) => boolean } = {},
  ): Promise<Subscriber> {
    const { accepts = () => true } = options;
    const subscriber = this.channel.subscribe({ accepts });
    // The run continues while its links are made: events published meanwhile are queued behind them.
    const { attempt, status } = this.record;
    const prologue = [metadataFrame(this.runId, status === 'pending' ? attempt + 1 : attempt)];
    const links = await this.makeFeedbackLinks();
    if (links !== undefined) prologue.push(encodeEvent('feedback', JSON.stringify(links)));
    const stored = (await options.replay?.()) ?? [];
    for (const { id, event, data } of stored) if (accepts(event)) prologue.push(encodeEvent(event, data, id));
    subscriber.startReading(prologue, stored.at(-1)?.id);
    return subscriber;
  }
}

/** The followed run or thread continues in another process: readers are cut off, and ask again. */
export class RunMovedError extends HttpProblem {
  constructor(what: string) {
    super(503, `${what} continues in another process of the deployment: ask again.`, {
      headers: { 'retry-after': '1' },
    });
  }
}

/** The first event of a stream. */
export function metadataFrame(runId: string, attempt: number): Uint8Array {
  return encodeEvent('metadata', JSON.stringify({ run_id: runId, attempt }));
}
