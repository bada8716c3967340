/** Places for runs that execute, given in the order in which they were asked for. */
export class RunSlots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(places: number) {
    this.#free = places;
  }

  /** A place that is free now, as what returns it. Returning it twice returns one place. */
  takeFree(): (() => void) | undefined {
    if (this.#free === 0) return undefined;
    this.#free -= 1;
    return this.#taken();
  }

  /** Waits for a place; `undefined` if the signal is aborted first. */
  async take(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    return this.takeFree() ?? ((await this.#turn(signal)) ? this.#taken() : undefined);
  }

  #taken(): () => void {
    let taken = true;
    return () => {
      if (taken) this.#giveBack();
      taken = false;
    };
  }

  #turn(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const come = () => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      const leave = () => {
        this.#waiting.delete(come);
        resolve(false);
      };
      this.#waiting.add(come);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  #giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

/** How much one process takes on (contract 001, "Limits": not shown; all decisions). */
export const DEFAULT_RUN_LIMITS = {
  /** Runs that execute at the same time; further ones wait as `pending`. */
  concurrentRuns: 2_000,
  /** Runs that may be pending before new ones are refused with 429. */
  pendingRuns: 10_000,
  /** The longest that any run may execute, in seconds; a run's own `timeout` can only be shorter. */
  runSeconds: 3_600,
};

export type RunLimits = typeof DEFAULT_RUN_LIMITS;
