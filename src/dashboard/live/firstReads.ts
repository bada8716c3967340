import { setTimeout as sleep } from 'node:timers/promises';

/** How long other requests to targets wait at most, in milliseconds. One silent target must not delay the others. */
const WAIT_MAX_MS = 1_000;
/** How many first reads run at once without delaying a page. */
const FEW = 4;
/** How long a browser takes to paint a page, in milliseconds. */
const PAINT_MS = 300;

/** The targets that are read for the first time. Other requests wait for them, so that a page soon shows all. */
export class FirstReads {
  #pending = 0;
  #waiting: (() => void)[] = [];

  /** Marks the start of a target's first read. @returns a function that marks its end. */
  begin(): () => void {
    this.#pending += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#pending -= 1;
      if (this.#pending > 0) return;
      for (const go of this.#waiting.splice(0)) go();
    };
  }

  /** Whether more first reads run than end soon. */
  get areMany(): boolean {
    return this.#pending > FEW;
  }

  /** Resolves when a first read may run. Few run before the browser has painted: fifty doubled the time to that. */
  async turn(signal: AbortSignal): Promise<void> {
    if (this.areMany) await sleep(PAINT_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }

  /** Resolves when no first read is running, or after a second. */
  async over(): Promise<void> {
    if (this.#pending === 0) return;
    const waited = new AbortController();
    const over = new Promise<void>((resolve) => this.#waiting.push(resolve));
    const late = sleep(WAIT_MAX_MS, undefined, { signal: waited.signal, ref: false }).catch(() => undefined);
    await Promise.race([over, late]);
    waited.abort();
  }
}
