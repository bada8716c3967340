import { HttpProblem } from '../../http/problem.ts';
import { encodeEvent } from '../../http/serverSentEvents.ts';
import type { RunFailure } from '../store/agentDatabase.ts';
import { isDatabaseAway, throughOutage } from '../store/databaseAway.ts';
import type { StreamEvent } from '../store/eventStore.ts';
import type { RunRecord } from '../store/runRecords.ts';
import { EventChannel, type Subscriber } from './eventChannel.ts';
import type { EventLog } from './eventLog.ts';

/**
 * Why a run was told to stop. `handover`: this process goes away, another one takes the run up. `lost`: another one may
 * have taken it up already, so this one must not touch it any more.
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
  readonly channel: EventChannel;
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
    this.channel = new EventChannel();
    this.#feedback = options.feedback;
    const { promise, resolve } = withResolvers<RunEnding>();
    this.ended = promise;
    this.#end = resolve;
  }

  /** The stored run. Set as soon as it is accepted. */
  get record(): RunRecord {
    if (this.#record === undefined) throw new Error(`Run ${this.runId} is not accepted yet.`);
    return this.#record;
  }

  set record(record: RunRecord) {
    this.#record = record;
  }

  /** Aborted once the run is to stop. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get stopReason(): StopReason | undefined {
    return this.#stopReason;
  }

  /** Whether the run is on its way to another process: who wants something of it has to ask there. */
  get isLeaving(): boolean {
    return this.#stopReason === 'handover' || this.#stopReason === 'lost';
  }

  /** Makes the feedback links now, so that they are there when somebody follows. */
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

  /** Nobody needs what its graph still does: aborts it without a reason of its own. */
  release(): void {
    if (!this.#abort.signal.aborted) this.#abort.abort(new DOMException('The run has ended', 'AbortError'));
  }

  /** Over: answers whoever waits, and ends the streams; those of a run that goes on elsewhere are broken off. */
  finish(ending: RunEnding): void {
    this.#end(ending);
    if (hasMoved(ending)) this.channel.breakOff(new RunMoved(this.runId));
    else this.channel.close();
  }

  /** Where the events of this attempt are stored, of a run that executes: from its beginning. */
  set log(log: EventLog) {
    this.#log = log;
  }

  /** How that is opened later; undefined: not any more. */
  set logLater(open: (() => Promise<EventLog>) | undefined) {
    this.#openLog = open;
  }

  /** Stores the events of this attempt from now on, for readers elsewhere: nothing to do where they are, or it is over. */
  storeEvents(): void {
    const open = this.#openLog;
    this.#openLog = undefined;
    // Where the database is away for longer than the lease the run is lost, and goes on elsewhere.
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

/** The run goes on in another process: who follows it here is cut off, asks again, and finds it there. */
export class RunMoved extends HttpProblem {
  constructor(runId: string) {
    super(503, `Run ${runId} continues in another process of the deployment: ask again.`, {
      headers: { 'retry-after': '1' },
    });
  }
}

/** This process goes away: who follows a thread here is cut off, and asks again elsewhere. */
export class ThreadMoved extends HttpProblem {
  constructor(threadId: string) {
    super(503, `Thread ${threadId} is followed in another process of the deployment: ask again.`, {
      headers: { 'retry-after': '1' },
    });
  }
}

/** The first event of a stream. */
export function metadataFrame(runId: string, attempt: number): Uint8Array {
  return encodeEvent('metadata', JSON.stringify({ run_id: runId, attempt }));
}

/** `Promise.withResolvers`, which Node 20 lacks. */
function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Who wants to hear of the runs of a thread as soon as this process has them, before they begin. */
export class NewRuns {
  readonly #hearers = new Map<string, Set<(live: LiveRun) => void>>();

  /** Hears of a thread's runs from now on. Answers what ends that. */
  hear(threadId: string, hearer: (live: LiveRun) => void): () => void {
    const hearers = this.#hearers.get(threadId) ?? new Set();
    this.#hearers.set(threadId, hearers);
    hearers.add(hearer);
    return () => {
      hearers.delete(hearer);
      if (hearers.size === 0 && this.#hearers.get(threadId) === hearers) this.#hearers.delete(threadId);
    };
  }

  /** Passes a run that was accepted, or taken up, to whoever listens to its thread. */
  tell(live: LiveRun): void {
    for (const hearer of this.#hearers.get(live.threadId) ?? []) hearer(live);
  }
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
