import type { Logger } from 'pino';

import type { ProcessStore } from '../store/processStore.ts';

/**
 * How long a process may be silent before its runs are anybody's, in milliseconds, where nothing else is said. A dead
 * process of the same machine is noticed at once by its pid, so this is for machines that are gone and for processes
 * that are frozen: longer than a long garbage collection or a database's restart, short enough to wait for.
 */
export const LEASE_MS = 20_000;

/** How many signs of life fit in a lease: several may be lost. */
const BEATS_PER_LEASE = 8;

/**
 * This process's lease on all of its runs: one statement every few seconds, whatever their number. While it
 * {@link holds}, no other process takes one of them up. A process that cannot renew it in time stops its runs by
 * itself (`onVoid`), because others may be executing them; one that was frozen asks first whether they are.
 */
export class ProcessLease {
  readonly #processes: ProcessStore;
  readonly #leaseMs: number;
  readonly #onVoid: () => void;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #renewedAt = -Infinity;
  #tickedAt = 0;
  #beating = false;

  constructor(options: { processes: ProcessStore; leaseMs: number; onVoid: () => void; log: Logger }) {
    this.#processes = options.processes;
    this.#leaseMs = options.leaseMs;
    this.#onVoid = options.onVoid;
    this.#log = options.log;
  }

  /** Whether nobody else can have taken this process's runs, as far as this process can know. */
  get holds(): boolean {
    return performance.now() - this.#renewedAt < this.#leaseMs;
  }

  /** Enters this process, and keeps it entered. */
  async start(): Promise<void> {
    await this.#beat();
    this.#tickedAt = performance.now();
    this.#timer = setInterval(() => this.#tick(), this.#interval);
    this.#timer.unref();
  }

  /** Gives the lease up: what is left of this process's runs is up to others. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#processes.leave();
  }

  get #interval(): number {
    return this.#leaseMs / BEATS_PER_LEASE;
  }

  #tick(): void {
    const now = performance.now();
    // Frozen (stopped, starved, blocked by its own code): it could not have renewed, and may still be believed.
    const wasFrozen = now - this.#tickedAt > 2 * this.#interval;
    this.#tickedAt = now;
    if (!this.holds && !wasFrozen) this.#onVoid();
    if (this.#beating) return;
    this.#beat().catch((error: unknown) => {
      this.#log.error({ err: error }, 'the lease on the runs of this process could not be renewed');
    });
  }

  async #beat(): Promise<void> {
    const sentAt = performance.now();
    const isFirst = this.#renewedAt === -Infinity;
    this.#beating = true;
    try {
      const answer = await this.#processes.heartbeat();
      if (answer === 'entered' && !isFirst) this.#onVoid();
      this.#renewedAt = sentAt;
    } finally {
      this.#beating = false;
    }
  }
}
