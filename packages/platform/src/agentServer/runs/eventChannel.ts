import { encodeEvent, type EventReader } from '../../http/serverSentEvents.ts';

/** An event, encoded once for all readers. */
interface EncodedEvent {
  readonly id: number;
  readonly event: string;
  readonly frame: Uint8Array;
}

/** The limit of events that wait for one reader, in encoded bytes. Beyond it, the reader is cut off. */
export const READER_BUFFER_MAX_BYTES = 8 * 1_048_576;

/**
 * Hands a run's events to the readers in this process. A reader gets only what is published after it subscribed
 * (contract 001: "output produced before a join is not delivered").
 *
 * A reader that falls behind by more than the limit is cut off with an `error` event, so that memory does not grow.
 * The run continues, and the reader may join it again.
 */
export class EventChannel {
  readonly #subscribers = new Set<Subscriber>();
  readonly #readerBytes: number;
  #lastId = 0;
  #closed = false;

  /** `readerBytes` limits what waits for one reader. Default 8 MiB. */
  constructor(options: { readerBytes?: number } = {}) {
    this.#readerBytes = options.readerBytes ?? READER_BUFFER_MAX_BYTES;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** The id of the newest event; 0 if there was none. */
  get lastId(): number {
    return this.#lastId;
  }

  /** Gives further events ids after this one. */
  continueAfter(id: number): void {
    this.#lastId = Math.max(this.#lastId, id);
  }

  /** Sends an event to every reader; `data` is JSON already. Without an `id` it gets the one after the last. */
  publish(event: string, data: string, id = this.#lastId + 1): void {
    if (this.#closed) return;
    this.#lastId = id;
    const entry: EncodedEvent = { id, event, frame: encodeEvent(event, data, id) };
    for (const subscriber of this.#subscribers) subscriber.push(entry);
  }

  /** Ends every reader's stream after its waiting events, with the error if one is given. */
  close(error?: Error): void {
    this.#closed = true;
    for (const subscriber of this.#subscribers) subscriber.finish(error);
    this.#subscribers.clear();
  }

  /** Subscribes a reader, which gets nothing before {@link Subscriber.startReading}. `accepts` filters the events. */
  subscribe(options: { accepts?: (event: string) => boolean } = {}): Subscriber {
    const subscriber = new Subscriber(this.#readerBytes, options.accepts ?? (() => true), (left) =>
      this.#subscribers.delete(left),
    );
    if (this.#closed) subscriber.finish();
    else this.#subscribers.add(subscriber);
    return subscriber;
  }
}

export function slowReaderFrame(limit: number): Uint8Array {
  const message = `This reader fell more than ${limit} bytes behind and was cut off; the run continues.`;
  return encodeEvent('error', JSON.stringify({ error: 'SlowReader', message }));
}

/** One reader of an {@link EventChannel}: a bounded queue of encoded events. */
export class Subscriber implements EventReader {
  readonly #queue: { readonly id: number; readonly frame: Uint8Array }[] = [];
  #limit: number;
  readonly #accepts: (event: string) => boolean;
  readonly #onClose: (subscriber: Subscriber) => void;
  #queuedBytes = 0;
  #isPaused = true;
  #finished = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(limit: number, accepts: (event: string) => boolean, onClose: (subscriber: Subscriber) => void) {
    this.#limit = limit;
    this.#accepts = accepts;
    this.#onClose = onClose;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  push(entry: EncodedEvent): void {
    if (this.#finished || !this.#accepts(entry.event)) return;
    // A single larger event is not behind.
    if (this.#queue.length === 0 || this.#queuedBytes + entry.frame.byteLength <= this.#limit) {
      this.#enqueue(entry);
      return;
    }
    this.#enqueue({ id: entry.id, frame: slowReaderFrame(this.#limit) });
    this.finish();
    this.#onClose(this);
  }

  /** Lets the reader read: the given events, then those published meanwhile whose id is above `throughId`. */
  startReading(firstFrames: readonly Uint8Array[], throughId = 0): void {
    const waiting = this.#queue.splice(0);
    this.#queuedBytes = 0;
    this.#isPaused = false;
    for (const frame of firstFrames) {
      this.#enqueue({ id: 0, frame });
      // A reader that comes back with much to catch up on is not behind.
      this.#limit += frame.byteLength;
    }
    for (const entry of waiting) if (entry.id > throughId) this.#enqueue(entry);
    this.#wake?.();
  }

  /** Ends the stream: the reader still gets what waits, and then the error if one is given. */
  finish(error?: Error): void {
    this.#finished = true;
    this.#error = error;
    if (!this.#isPaused) this.#wake?.();
  }

  close(): void {
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.#isPaused = false;
    this.finish();
    this.#onClose(this);
  }

  async next(): Promise<Uint8Array | undefined> {
    while (this.#isPaused || (this.#queue.length === 0 && !this.#finished)) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const frame = this.#queue.shift()?.frame;
    if (frame !== undefined) {
      this.#queuedBytes -= frame.byteLength;
      return frame;
    }
    if (this.#error !== undefined) throw this.#error;
    return undefined;
  }

  #enqueue(entry: { id: number; frame: Uint8Array }): void {
    this.#queue.push(entry);
    this.#queuedBytes += entry.frame.byteLength;
    if (!this.#isPaused) this.#wake?.();
  }
}
