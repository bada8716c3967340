/** A pool of things for exclusive use. If none is free, the caller waits for the next one. */
export class Pool<T> {
  readonly #free: T[];
  readonly #waiting: ((thing: T) => void)[] = [];

  constructor(things: readonly T[]) {
    this.#free = [...things];
  }

  async use(work: (thing: T) => Promise<void>): Promise<void> {
    const thing = this.#free.pop() ?? (await new Promise<T>((resolve) => this.#waiting.push(resolve)));
    try {
      await work(thing);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(thing);
      else next(thing);
    }
  }
}
