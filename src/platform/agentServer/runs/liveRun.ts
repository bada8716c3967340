import { type RunFailure } from '../store/agentDatabase.ts';
import { type RunRecord } from '../store/runStore.ts';
import { encodeEvent, EventChannel, type Subscriber } from './eventChannel.ts';

/** Why a run was told to stop. `handover`: this process goes away, another one takes the pending run up. */
export type StopReason = 'interrupt' | 'rollback' | 'timeout' | 'shutdown' | 'handover';

/** How a run ended. */
export interface RunEnding {
  readonly status: 'success' | 'error' | 'timeout' | 'interrupted' | 'rolled_back' | 'handed_over';
  /** JSON text: the final values of the graph, or of its last completed step. */
  readonly values: string;
  readonly failure: RunFailure | undefined;
}

/** A run in this process, from its acceptance to its end. */
export class LiveRun {
  readonly runId: string;
  readonly threadId: string;
  readonly stateless: boolean;
  readonly channel: EventChannel;
  /** Whether this process has begun to execute it, or is about to: from then on it is not handed over. */
  begun = false;
  /** Resolves when everything about the run is over and stored. Never rejects. */
  readonly ended: Promise<RunEnding>;
  readonly #end: (ending: RunEnding) => void;
  readonly #abort = new AbortController();
  #feedback: Promise<Record<string, string> | undefined> = Promise.resolve(undefined);
  #record: RunRecord | undefined;
  #stopReason: StopReason | undefined;

  constructor(options: { runId: string; threadId: string; stateless: boolean; resumable: boolean }) {
    this.runId = options.runId;
    this.threadId = options.threadId;
    this.stateless = options.stateless;
    this.channel = new EventChannel({ resumable: options.resumable });
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

  /** The links of the run's feedback keys, when it has some. */
  set feedback(links: Promise<Record<string, string> | undefined>) {
    this.#feedback = links;
  }

  /** Asks the run to stop. The first reason counts, except that a rollback outdoes an interrupt. */
  stop(reason: StopReason): void {
    if (this.#stopReason === undefined || (this.#stopReason === 'interrupt' && reason === 'rollback')) {
      this.#stopReason = reason;
    }
    if (!this.#abort.signal.aborted)
      this.#abort.abort(new DOMException(`Run stopped: ${reason}`, 'AbortError'));
  }

  /** Nobody needs what its graph still does: aborts it without a reason of its own. */
  release(): void {
    if (!this.#abort.signal.aborted) this.#abort.abort(new DOMException('The run has ended', 'AbortError'));
  }

  /** Over: answers whoever waits, and ends the streams. */
  finish(ending: RunEnding): void {
    this.#end(ending);
    this.channel.close();
  }

  /**
   * A stream of this run (contract 001, "Events"): run id and attempt, the feedback links where there are some, then
   * what is published from now on. `lastEventId` and `accepts` as in {@link EventChannel}.
   */
  async follow(
    options: { lastEventId?: number; accepts?: (event: string) => boolean } = {},
  ): Promise<Subscriber> {
    const subscriber = this.channel.subscribe(options);
    // The run goes on while its links are made: what it publishes meanwhile waits behind them.
    const { attempt, status } = this.record;
    const prologue = [metadataFrame(this.runId, status === 'pending' ? attempt + 1 : attempt)];
    const links = await this.#feedback;
    if (links !== undefined) prologue.push(encodeEvent('feedback', JSON.stringify(links)));
    subscriber.release(prologue);
    return subscriber;
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
