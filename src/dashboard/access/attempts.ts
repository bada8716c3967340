/** How many clients are remembered. Beyond that, the client with the oldest window is forgotten. */
const MOST_CLIENTS = 10_000;

/** Limits each client's wrong attempts within a time window. Processes do not share it. */
export class Attempts {
  readonly #most: number;
  readonly #windowMs: number;
  readonly #now: () => number;
  /** In the order in which the windows began. */
  readonly #failed = new Map<string, { count: number; readonly since: number }>();

  /** @param most - how many attempts may fail within a window. @param now - a clock in milliseconds. */
  constructor(most: number, windowMs: number, now: () => number = () => performance.now()) {
    this.#most = most;
    this.#windowMs = windowMs;
    this.#now = now;
  }

  waitMs(client: string): number {
    const failed = this.#failed.get(client);
    if (failed === undefined || failed.count < this.#most) return 0;
    const left = failed.since + this.#windowMs - this.#now();
    if (left > 0) return left;
    this.#failed.delete(client);
    return 0;
  }

  fail(client: string): void {
    const now = this.#now();
    const failed = this.#failed.get(client);
    if (failed !== undefined && now < failed.since + this.#windowMs) {
      failed.count += 1;
      return;
    }
    this.#failed.delete(client);
    this.#failed.set(client, { count: 1, since: now });
    const [oldest] = this.#failed.keys();
    if (this.#failed.size > MOST_CLIENTS && oldest !== undefined) this.#failed.delete(oldest);
  }
}
