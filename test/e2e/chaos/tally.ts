/** How often each thing happened. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** The most frequent first. */
  get counts(): readonly (readonly [what: string, count: number])[] {
    return [...this.#counts].sort(([, one], [, other]) => other - one);
  }
}
