import { setTimeout as sleep } from 'node:timers/promises';

/** How long what else is asked of a target waits at most, in milliseconds: one that does not answer holds up no other. */
const WAIT_MAX_MS = 1_000;

/**
 * The targets that are being read for the first time. Whatever else is asked of targets waits until these have answered, so
 * that a page shows all of them soon.
 */
export class FirstReads {
  #pending = 0;
  #waiting: (() => void)[] = [];

  /** Notes that a target is being read. @returns what notes that this is over. */
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

  /** Resolves once none is, or after a second. */
  async over(): Promise<void> {
    if (this.#pending === 0) return;
    const waited = new AbortController();
    const over = new Promise<void>((resolve) => this.#waiting.push(resolve));
    const late = sleep(WAIT_MAX_MS, undefined, { signal: waited.signal, ref: false }).catch(() => undefined);
    await Promise.race([over, late]);
    waited.abort();
  }
}
