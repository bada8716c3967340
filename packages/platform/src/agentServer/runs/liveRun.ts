import { HttpProblem } from '../../http/problem.ts';
import { encodeEvent } from '../../http/serverSentEvents.ts';
import type { RunFailure } from '../store/agentDatabase.ts';
import { isDatabaseAway, throughOutage } from '../store/databaseAway.ts';
import type { StreamEvent } from '../store/eventStore.ts';
import type { RunRecord } from '../store/runRecords.ts';
import { EventChannel, type Subscriber } from './eventChannel.ts';
import type { EventLog } from './eventLog.ts';

/**
 * Why a run was asked to stop. `handover`: this process ends, another one will claim the run. `lost`: another one may have
 * claimed it already, so this one must not touch it any more.
 */
export type StopReason = 'interrupt' | 'rollback' | 'timeout' | 'handover' | 'lost';

/** How a run ended; `handed_over` and `lost`: only here, it goes on elsewhere. */
export interface RunEnding {
  readonly status: 'success' | 'error' | 'timeout' | 'interrupted' | 'rolled_back' | 'handed_over' | 'lost';
  /** JSON text: the final values of the graph, or of its last completed step. */
  readonly values: string;
  readonly failure: RunFailure | undefined;
}

/** Whether the run goes on elsewhere. */
export function hasMoved(ending: RunEnding): boolean {
  return ending.status === 'handed_over' || ending.status === 'lost';
}

/** A run in this process, from its acceptance to its end, or until it goes on elsewhere. */
export class LiveRun {
  readonly runId: string;
  readonly threadId: string;
  readonly stateless: boolean;
  /** Whether readers may come back to its stream. */
  readonly resumable: boolean;
  readonly channel = new EventChannel();
  /** Whether this process has begun to execute it, or is about to. */
  begun = false;
  /** Resolves when everything about the run is over and stored. Never rejects. */
  readonly ended: Promise<RunEnding>;
  readonly #end: (ending: RunEnding) => void;
  readonly #abort = new AbortController();
  readonly #feedback: () => Promise<FeedbackLinks | undefined>;
  #links: Promise<FeedbackLinks | undefined> | undefined;
  #log: EventLog | undefined;
  #openLog: (() => Promise<EventLog>) | undefined;
  #record: RunRecord | undefined;
  #stopReason: StopReason | undefined;

  /** `feedback` makes the links of the run's feedback keys, where it has some; called at most once. */
  constructor(options: {
    runId: string;
    threadId: string;
    stateless: boolean;
    resumable: boolean;
    feedback: () => Promise<FeedbackLinks | undefined>;
  }) {
    this.runId = options.runId;
    this.threadId = options.threadId;
    this.stateless = options.stateless;
    this.resumable = options.resumable;
    this.#feedback = options.feedback;
    let end: (ending: RunEnding) => void = () => undefined;
    this.ended = new Promise((resolve) => (end = resolve));
    this.#end = end;
  }

  /** The stored run. Set as soon as it is accepted. */
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

  /** Whether the run is on its way to another process. */
  get isLeaving(): boolean {
    return this.#stopReason === 'handover' || this.#stopReason === 'lost';
  }

  /** Makes the feedback links now, so that they exist when a client follows. */
  makeFeedbackLinks(): Promise<FeedbackLinks | undefined> {
    return (this.#links ??= this.#feedback());
  }

  /**
   * Asks the run to stop. The first reason counts, except that a rollback outdoes an interrupt and a timeout, and that a
   * lost run is lost whatever else it was to be.
   */
  stop(reason: StopReason): void {
    const keepsWork = this.#stopReason === 'interrupt' || this.#stopReason === 'timeout';
    const outdoes = reason === 'lost' || (keepsWork && reason === 'rollback');
    if (this.#stopReason === undefined || outdoes) this.#stopReason = reason;
    if (!this.#abort.signal.aborted)
      this.#abort.abort(new DOMException(`Run stopped: ${reason}`, 'AbortError'));
  }

  /** Aborts what its graph still does after the run's end. */
  release(): void {
    if (!this.#abort.signal.aborted) this.#abort.abort(new DOMException('The run has ended', 'AbortError'));
  }

  /** Ends the waits and the streams; those of a run that continues in another process are broken off. */
  finish(ending: RunEnding): void {
    this.#end(ending);
    this.channel.close(hasMoved(ending) ? new Moved(`Run ${this.runId}`) : undefined);
  }

  /** Where the events of this attempt are stored, of a run that executes: from its beginning. */
  set log(log: EventLog) {
    this.#log = log;
  }

  /** How that is opened later; undefined: not any more. */
  set logLater(open: (() => Promise<EventLog>) | undefined) {
    this.#openLog = open;
  }

  /** Stores the events of this attempt from now on, for readers in other processes. */
  storeEvents(): void {
    const open = this.#openLog;
    this.#openLog = undefined;
    open?.().then(
      (log) => (this.#log = log),
      () => this.stop('lost'),
    );
  }

  /** Sends an event to every reader: at once, or where events are stored as soon as it is. */
  publish(event: string, data: string): void {
    if (this.#log === undefined) this.channel.publish(event, data);
    else this.#log.publish(event, data);
  }

  /** Resolves when what was published has reached the channel, as far as it will. */
  async published(): Promise<void> {
    await this.#log?.settled();
  }

  /** Resolves when more can be published without gathering it in memory. */
  async room(): Promise<void> {
    await this.#log?.room();
  }

  /**
   * A stream of this run (contract 001, "Events"): run id and attempt, the feedback links where there are some, what
   * `replay` reads of what was stored before, then what is published from now on. `accepts` as in {@link EventChannel}.
   */
  async follow(
    options: { replay?: () => Promise<readonly StreamEvent[]>; accepts?: (event: string) => boolean } = {},
  ): Promise<Subscriber> {
    const { accepts = () => true } = options;
    const subscriber = this.channel.subscribe({ accepts });
    // The run goes on while its links are made: what it publishes meanwhile waits behind them.
    const { attempt, status } = this.record;
    const prologue = [metadataFrame(this.runId, status === 'pending' ? attempt + 1 : attempt)];
    const links = await this.makeFeedbackLinks();
    if (links !== undefined) prologue.push(encodeEvent('feedback', JSON.stringify(links)));
    const stored = (await options.replay?.()) ?? [];
    for (const { id, event, data } of stored) if (accepts(event)) prologue.push(encodeEvent(event, data, id));
    subscriber.release(prologue, stored.at(-1)?.id);
    return subscriber;
  }
}

/** A run's feedback links, by key. */
export type FeedbackLinks = Record<string, string>;

/** What is followed here continues in another process: readers are cut off, and ask again. */
export class Moved extends HttpProblem {
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

/** Waits for a database that is away as long as the lease holds; the run is lost with it. @throws what the work throws */
export async function patiently<T>(
  live: LiveRun,
  lease: { readonly holds: boolean },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await throughOutage(work, () => lease.holds);
  } catch (error) {
    if (isDatabaseAway(error)) live.stop('lost');
    throw error;
  }
}
