/** Slots for executing runs, given in the order of the requests. */
export class RunSlots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Takes a free slot now. Returns the function that releases it; a second call does nothing. */
  tryAcquire(): (() => void) | undefined {
    if (this.#free === 0) return undefined;
    this.#free -= 1;
    return this.#createRelease();
  }

  /** Waits for a slot; `undefined` if the signal is aborted first. */
  async acquire(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    return this.tryAcquire() ?? ((await this.#waitForSlot(signal)) ? this.#createRelease() : undefined);
  }

  #createRelease(): () => void {
    let isHeld = true;
    return () => {
      if (isHeld) this.#release();
      isHeld = false;
    };
  }

  #waitForSlot(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const onSlot = () => {
        signal.removeEventListener('abort', onAbort);
        resolve(true);
      };
      const onAbort = () => {
        this.#waiting.delete(onSlot);
        resolve(false);
      };
      this.#waiting.add(onSlot);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

/** The limits of one process (contract 001, "Limits": not shown; all decisions). */
export const DEFAULT_RUN_LIMITS = {
  /** Runs that execute at the same time; others wait as `pending`. */
  concurrentRuns: 2_000,
  /** Runs that may be pending before new ones are rejected with 429. */
  pendingRuns: 10_000,
  /** The longest that any run may execute, in seconds; a run's own `timeout` can only be shorter. */
  runSeconds: 3_600,
};

export type RunLimits = typeof DEFAULT_RUN_LIMITS;
