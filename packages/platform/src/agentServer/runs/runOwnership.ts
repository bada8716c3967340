import type { Logger } from 'pino';

import { retryDuringOutage } from '../../store/databaseOutage.ts';
import { AWAY_MS } from '../store/agentDatabase.ts';
import type { CheckpointStore } from '../store/checkpointStore.ts';
import type { EventStore } from '../store/eventStore.ts';
import type { ItemStore } from '../store/itemStore.ts';
import type { PendingWebhooks } from '../store/pendingWebhooks.ts';
import type { ProcessStore } from '../store/processStore.ts';
import type { RunStore } from '../store/runStore.ts';
import { type CancelAction, recordedEnding, type RunService } from './runService.ts';
import { jittered } from './changePoller.ts';

const CLAIM_INTERVAL_MS = 1_000;

/** How often to read other processes' requests about this process's runs, in milliseconds. */
const REQUEST_POLL_INTERVAL_MS = 500;

/** How often expired rows are removed, in milliseconds. */
const CLEANUP_INTERVAL_MS = 60_000;

interface RunOwnershipParts {
  readonly runs: RunStore;
  readonly processes: ProcessStore;
  readonly checkpoints: CheckpointStore;
  readonly events: EventStore;
  readonly items: ItemStore;
  readonly pendingWebhooks: PendingWebhooks;
  readonly lease: ProcessLease;
  readonly service: RunService;
  readonly log: Logger;
}

/**
 * Connects the processes of one deployment (the serving revision, the draining one, the one after a crash or a
 * rollback). It claims runs that no process executes, and webhooks that are due, and carries out what other processes
 * request for this one's runs.
 *
 * Each task is one query for all runs, at jittered times, so that processes that started together do not query
 * together. A process that accepts a run starts it itself and does not wait for these tasks.
 */
export class RunOwnership {
  readonly #parts: RunOwnershipParts;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #rounds = new Set<Promise<void>>();
  #stopped = false;

  constructor(parts: RunOwnershipParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    await this.#claim();
    this.#repeat(CLAIM_INTERVAL_MS, () => this.#claim());
    this.#repeat(REQUEST_POLL_INTERVAL_MS, () => this.#handleRequests());
    this.#repeat(CLEANUP_INTERVAL_MS, () => this.#removeExpired());
  }

  /** Resolves when nothing of it uses the database any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all(this.#rounds);
  }

  async #claim(): Promise<void> {
    const { lease, processes, pendingWebhooks, runs, service } = this.#parts;
    if (this.#stopped || service.closing || !lease.isHeld) return;
    await processes.removeDead();
    const unsettled = service.takeReconciliationRequest();
    try {
      // In this order: a run accepted meanwhile is registered in this process before it is stored.
      const owned = unsettled ? await runs.owned() : [];
      const dropped = owned.filter((runId) => service.findLive(runId) === undefined);
      for (const run of await runs.claim(dropped)) service.executeClaimed(run);
    } catch (error) {
      if (unsettled) service.requestReconciliation();
      throw error;
    }
    for (const run of await pendingWebhooks.claim()) void service.sendWebhook(run, recordedEnding(run));
  }

  async #handleRequests(): Promise<void> {
    const { runs, service } = this.#parts;
    if (service.isIdle) return;
    for (const { run_id: runId, cancel_action: action, followed } of await runs.pendingRequests()) {
      if (followed) service.findLive(runId)?.startStoringEvents();
      if (action !== null) service.stop(runId, action as CancelAction);
    }
  }

  async #removeExpired(): Promise<void> {
    const { checkpoints, events, items, runs } = this.#parts;
    await events.removeExpired();
    await items.dropExpired();
    for (const threadId of await runs.removeExpired()) await checkpoints.deleteThread(threadId);
  }

  /** Logs a failure (the database is away) and tries again in the next round. Rounds never overlap. */
  #repeat(milliseconds: number, task: () => Promise<void>): void {
    const next = () => {
      if (this.#stopped) return;
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        const round = task()
          .catch((error: unknown) =>
            this.#parts.log.warn({ err: error }, 'keeping up with other processes failed'),
          )
          .finally(() => {
            this.#rounds.delete(round);
            next();
          });
        this.#rounds.add(round);
      }, jittered(milliseconds));
      timer.unref();
      this.#timers.add(timer);
    };
    next();
  }
}

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
 * This process's lease on all of its runs: one statement every few seconds, whatever their number. While it {@link
 * holds}, no other process claims them. If the process cannot renew it in time, it stops its runs itself (`onExpired`),
 * because others may be executing them. A process that was frozen first asks the database.
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
