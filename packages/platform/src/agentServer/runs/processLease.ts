import type { Logger } from 'pino';

import { retryDuringOutage } from '../../store/databaseOutage.ts';
import { AWAY_MS } from '../store/agentDatabase.ts';
import type { ProcessStore } from '../store/processStore.ts';

/**
 * The default silence after which other processes may claim a process's runs, in milliseconds. Others notice a dead
 * process of the same machine at once by its pid. So this is for lost machines and frozen processes: longer than a
 * long garbage collection or a database restart, short enough to wait for.
 */
export const LEASE_MS = 20_000;

/** Heartbeats per lease: several may be lost. */
const RENEWALS_PER_LEASE = 8;

interface ProcessLeaseOptions {
  readonly processes: ProcessStore;
  readonly leaseMs: number;
  readonly onExpired: () => void;
  readonly log: Logger;
}

/**
 * This process's lease on all of its runs: one statement every few seconds, whatever their number. While it is held, no
 * other process claims them. If the process cannot renew it in time, it stops its runs itself (`onExpired`), because
 * others may be executing them. A process that was frozen first asks the database.
 */
export class ProcessLease {
  readonly #options: ProcessLeaseOptions;
  #timer: NodeJS.Timeout | undefined;
  #renewedAt = -Infinity;
  #tickedAt = 0;
  #isRenewing = false;

  constructor(options: ProcessLeaseOptions) {
    this.#options = options;
  }

  /** Whether no other process can have claimed this process's runs, as far as this process can know. */
  get isHeld(): boolean {
    return performance.now() - this.#renewedAt < this.#options.leaseMs;
  }

  async start(): Promise<void> {
    await retryDuringOutage(AbortSignal.timeout(AWAY_MS), () => this.#renew());
    this.#tickedAt = performance.now();
    this.#timer = setInterval(() => this.#tick(), this.#interval);
    this.#timer.unref();
  }

  /** Gives up the lease, so that other processes may claim the remaining runs. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#options.processes.unregister();
  }

  get #interval(): number {
    return this.#options.leaseMs / RENEWALS_PER_LEASE;
  }

  #tick(): void {
    const now = performance.now();
    // Frozen (stopped, starved, blocked by its own code): it could not renew, and its lease may still be valid.
    const wasFrozen = now - this.#tickedAt > 2 * this.#interval;
    this.#tickedAt = now;
    if (!this.isHeld && !wasFrozen) this.#options.onExpired();
    if (this.#isRenewing) return;
    this.#renew().catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'the lease on the runs of this process could not be renewed');
    });
  }

  async #renew(): Promise<void> {
    const sentAt = performance.now();
    const isFirst = this.#renewedAt === -Infinity;
    this.#isRenewing = true;
    try {
      const answer = await this.#options.processes.heartbeat();
      if (answer === 'entered' && !isFirst) this.#options.onExpired();
      this.#renewedAt = sentAt;
    } finally {
      this.#isRenewing = false;
    }
  }
}
