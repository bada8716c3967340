/** One event of a run's stream, encoded once for all of its readers. */
export interface RunEvent {
  /** Counts from 1 within the run: the `id:` of the event, which `Last-Event-ID` names. */
  readonly id: number;
  /** The kind, with the namespace of a subgraph behind a bar: `updates|sub:<id>`. */
  readonly event: string;
  /** The event as it goes over the wire, bytes. */
  readonly frame: Uint8Array;
}

/** Bounds of an {@link EventChannel}, in bytes of encoded events. */
export interface EventChannelLimits {
  /** What may wait for one reader before it is cut off: default 8 MiB. */
  readonly subscriberBytes: number;
  /** What a resumable run keeps for readers that come back, oldest dropped first: default 8 MiB. */
  readonly replayBytes: number;
}

const DEFAULT_LIMITS: EventChannelLimits = { subscriberBytes: 8 * 1_048_576, replayBytes: 8 * 1_048_576 };

/**
 * Hands a run's events to whoever reads them. A reader gets what is published after it came (contract 001: "output
 * produced before a join is not delivered"), except that a resumable run replays what followed `Last-Event-ID`.
 *
 * A reader that falls behind by more than the limit is cut off with an `error` event instead of growing memory; the
 * run goes on, and the reader may join it again.
 */
export class EventChannel {
  readonly #subscribers = new Set<Subscriber>();
  readonly #replay: RunEvent[] = [];
  readonly #limits: EventChannelLimits;
  readonly #resumable: boolean;
  #replayBytes = 0;
  #lastId = 0;
  #closed = false;

  constructor(options: { resumable: boolean; limits?: Partial<EventChannelLimits> }) {
    this.#resumable = options.resumable;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Sends an event to every reader; `data` is JSON already. */
  publish(event: string, data: string): void {
    if (this.#closed) return;
    const id = ++this.#lastId;
    const entry: RunEvent = { id, event, frame: encodeEvent(event, data, id) };
    if (this.#resumable) this.#keep(entry);
    for (const subscriber of this.#subscribers) subscriber.push(entry);
  }

  /** Ends every reader's stream once it has read what waits for it. */
  close(): void {
    this.#closed = true;
    for (const subscriber of this.#subscribers) subscriber.finish();
    this.#subscribers.clear();
  }

  /** Like {@link close}, but the readers' streams break with an error: what follows comes from elsewhere. */
  breakOff(error: Error): void {
    this.#closed = true;
    for (const subscriber of this.#subscribers) subscriber.finish(error);
    this.#subscribers.clear();
  }

  /**
   * Begins to read. `lastEventId` replays a resumable run from behind that event (`-1` or `0`: from the start).
   * `accepts` leaves out the events that the reader did not ask for. The reader sees nothing before
   * {@link Subscriber.release}, which says what its stream begins with.
   */
  subscribe(options: { lastEventId?: number; accepts?: (event: string) => boolean } = {}): Subscriber {
    const subscriber = new Subscriber({
      limit: this.#limits.subscriberBytes,
      accepts: options.accepts ?? (() => true),
      onLeave: (left) => this.#subscribers.delete(left),
    });
    const { lastEventId } = options;
    if (lastEventId !== undefined) {
      for (const entry of this.#replay) if (entry.id > lastEventId) subscriber.push(entry);
    }
    if (this.#closed) subscriber.finish();
    else this.#subscribers.add(subscriber);
    return subscriber;
  }

  #keep(entry: RunEvent): void {
    this.#replay.push(entry);
    this.#replayBytes += entry.frame.byteLength;
    while (this.#replayBytes > this.#limits.replayBytes) {
      const dropped = this.#replay.shift();
      if (dropped === undefined) break;
      this.#replayBytes -= dropped.frame.byteLength;
    }
  }
}

/** One reader of an {@link EventChannel}: a bounded queue of encoded events. */
export class Subscriber {
  readonly #queue: Uint8Array[] = [];
  readonly #limit: number;
  readonly #accepts: (event: string) => boolean;
  readonly #onLeave: (subscriber: Subscriber) => void;
  #queuedBytes = 0;
  #held = true;
  #finished = false;
  #broken: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(options: {
    limit: number;
    accepts: (event: string) => boolean;
    onLeave: (subscriber: Subscriber) => void;
  }) {
    this.#limit = options.limit;
    this.#accepts = options.accepts;
    this.#onLeave = options.onLeave;
  }

  /** Bytes that wait for this reader. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  push(entry: RunEvent): void {
    if (this.#finished || !this.#accepts(entry.event)) return;
    if (this.#queuedBytes + entry.frame.byteLength <= this.#limit) {
      this.#enqueue(entry.frame);
      return;
    }
    const message = `This reader fell more than ${this.#limit} bytes behind and was cut off; the run goes on.`;
    this.#enqueue(encodeEvent('error', JSON.stringify({ error: 'SlowReader', message })));
    this.finish();
    this.#onLeave(this);
  }

  /** Lets the reader read: first the given events, then whatever has come for it meanwhile. */
  release(prologue: readonly Uint8Array[]): void {
    this.#queue.unshift(...prologue);
    for (const frame of prologue) this.#queuedBytes += frame.byteLength;
    this.#held = false;
    this.#wake?.();
  }

  /** No more events will come; what waits is still read, and then the error is thrown, where one is given. */
  finish(error?: Error): void {
    this.#finished = true;
    this.#broken = error;
    if (!this.#held) this.#wake?.();
  }

  /** The reader is gone: nothing is kept for it any more. */
  leave(): void {
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.#held = false;
    this.finish();
    this.#onLeave(this);
  }

  /**
   * The next event's bytes; `undefined` at the end; `'idle'` when nothing came for `idleMs`. One call at a time.
   * @throws what the stream was broken off with.
   */
  async next(idleMs: number): Promise<Uint8Array | undefined | 'idle'> {
    if (this.#held || (this.#queue.length === 0 && !this.#finished)) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, idleMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = undefined;
    }
    if (this.#held) return this.#whenEmpty();
    const frame = this.#queue.shift();
    if (frame !== undefined) {
      this.#queuedBytes -= frame.byteLength;
      return frame;
    }
    return this.#whenEmpty();
  }

  #whenEmpty(): undefined | 'idle' {
    if (!this.#finished) return 'idle';
    if (this.#broken !== undefined) throw this.#broken;
    return undefined;
  }

  #enqueue(frame: Uint8Array): void {
    this.#queue.push(frame);
    this.#queuedBytes += frame.byteLength;
    if (!this.#held) this.#wake?.();
  }
}

const encoder = new TextEncoder();

/** An event as it goes over the wire. `data` is JSON, which has no raw line breaks. */
export function encodeEvent(event: string, data: string, id?: number | string): Uint8Array {
  const idLine = id === undefined ? '' : `id: ${id}\n`;
  return encoder.encode(`event: ${event}\n${idLine}data: ${data}\n\n`);
}
