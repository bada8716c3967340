import { setTimeout as delay } from 'node:timers/promises';

import type { EventStore, StreamEvent } from '../store/eventStore.ts';
import { encodeEvent, type EventReader } from '../../http/serverSentEvents.ts';
import type { RunEnding } from './liveRun.ts';

/** How often new events of a run that another process executes are looked for, in milliseconds. */
const LOOK_MS = 200;

/**
 * A reader of a resumable run that this process does not execute: what is stored behind the last event seen, then what
 * is stored as it goes on, to its end. It reads no faster than its client does.
 */
export class StoredStream implements EventReader {
  readonly #store: EventStore;
  readonly #runId: string;
  readonly #accepts: (event: string) => boolean;
  readonly #left = new AbortController();
  readonly #frames: Uint8Array[];
  #after: number;
  #ending: RunEnding | undefined;
  #problem: Error | undefined;
  #over = false;

  /** `ending` is asked for how the run ends, wherever that is; `prologue` is what the stream begins with. */
  constructor(options: {
    store: EventStore;
    runId: string;
    after: number;
    accepts: (event: string) => boolean;
    prologue: readonly Uint8Array[];
    ending: (signal: AbortSignal) => Promise<RunEnding>;
  }) {
    this.#store = options.store;
    this.#runId = options.runId;
    this.#after = options.after;
    this.#accepts = options.accepts;
    this.#frames = [...options.prologue];
    options.ending(this.#left.signal).then(
      (ending) => {
        this.#ending = ending;
      },
      (error: unknown) => {
        this.#problem = error instanceof Error ? error : new Error(String(error));
      },
    );
  }

  async next(idleMs: number): Promise<Uint8Array | undefined | 'idle'> {
    const deadline = performance.now() + idleMs;
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      if (this.#over) return undefined;
      // Whether it had ended before the look: then there is nothing behind it.
      const ending = this.#ending;
      const events = await this.#store.read(this.#runId, this.#after);
      for (const event of events) this.#take(event);
      if (events.length > 0) continue;
      if (this.#problem !== undefined) throw this.#problem;
      if (ending !== undefined) this.#end(ending);
      else if (performance.now() >= deadline) return 'idle';
      else await delay(LOOK_MS);
    }
  }

  leave(): void {
    this.#over = true;
    this.#frames.length = 0;
    this.#left.abort();
  }

  #take({ id, event, data }: StreamEvent): void {
    this.#after = id;
    if (this.#accepts(event)) this.#frames.push(encodeEvent(event, data, id));
  }

  #end({ failure }: RunEnding): void {
    this.#over = true;
    if (failure !== undefined) {
      this.#frames.push(encodeEvent('error', JSON.stringify(failure), this.#after + 1));
    }
  }
}
