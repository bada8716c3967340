/** Places for runs that execute, given in the order in which they were asked for. */
export class RunSlots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(places: number) {
    this.#free = places;
  }

  /**
   * Waits for a place, and gives what returns it; `undefined` where the signal is aborted first. A place that is
   * returned twice is one place.
   */
  async take(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    if (this.#free > 0) this.#free -= 1;
    else if (!(await this.#turn(signal))) return undefined;
    let taken = true;
    return () => {
      if (!taken) return;
      taken = false;
      this.#giveBack();
    };
  }

  /** Whether the turn came before the signal. */
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

  /** A place goes to who waits longest, else it is free. */
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
