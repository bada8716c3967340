/** Limits how much of something happens at once. Slots are given in the order of the requests. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(slots: number) {
    this.#free = slots;
  }

  get free(): number {
    return this.#free;
  }

  /** Takes a free slot now. Returns the function that releases it, to be called once. */
  tryAcquire(): (() => void) | undefined {
    if (this.#free === 0) return undefined;
    this.#free -= 1;
    return this.#release;
  }

  /** Waits for a slot; `undefined` if the signal is aborted first. */
  async acquire(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    return this.tryAcquire() ?? this.#waitForSlot(signal);
  }

  #waitForSlot(signal: AbortSignal): Promise<(() => void) | undefined> {
    return new Promise((resolve) => {
      const onSlot = () => {
        signal.removeEventListener('abort', onAbort);
        resolve(this.#release);
      };
      const onAbort = () => {
        this.#waiting.delete(onSlot);
        resolve(undefined);
      };
      this.#waiting.add(onSlot);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  readonly #release = (): void => {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  };
}
