/** How one endpoint answered what was made up for it. */
interface Counts {
  sent: number;
  accepted: number;
  readonly refused: Map<number, number>;
}

/** How often each endpoint let a request in, and how it refused the others. */
export class Tally {
  readonly #counts = new Map<string, Counts>();

  count(endpoint: string, status: number): void {
    const counts = this.#of(endpoint);
    counts.sent += 1;
    if (status < 400) counts.accepted += 1;
    else counts.refused.set(status, (counts.refused.get(status) ?? 0) + 1);
  }

  sent(endpoint: string): number {
    return this.#counts.get(endpoint)?.sent ?? 0;
  }

  /** The endpoints that were asked and let nothing in. */
  get closed(): string[] {
    return [...this.#counts].filter(([, { accepted }]) => accepted === 0).map(([endpoint]) => endpoint);
  }

  get total(): { sent: number; accepted: number } {
    const counts = [...this.#counts.values()];
    return {
      sent: counts.reduce((sum, { sent }) => sum + sent, 0),
      accepted: counts.reduce((sum, { accepted }) => sum + accepted, 0),
    };
  }

  /** What stands above the lines of {@link line}. */
  readonly heading = line('endpoint', 'sent', 'accepted', 'refused by status');

  /** How many requests to an endpoint were sent and let in, and how many were refused with which status. */
  line(endpoint: string): string {
    const { sent, accepted, refused } = this.#of(endpoint);
    const statuses = [...refused].sort(([one], [other]) => one - other);
    const refusals = statuses.map(([status, count]) => `${status}: ${count}`).join(', ');
    return line(endpoint, String(sent), String(accepted), refusals);
  }

  #of(endpoint: string): Counts {
    const counts = this.#counts.get(endpoint) ?? { sent: 0, accepted: 0, refused: new Map<number, number>() };
    this.#counts.set(endpoint, counts);
    return counts;
  }
}

function line(endpoint: string, sent: string, accepted: string, refused: string): string {
  return `${endpoint.padEnd(26)}${sent.padStart(8)}${accepted.padStart(10)}  ${refused}\n`;
}
