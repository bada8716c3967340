import type { Logger } from 'pino';

import type { EventStore } from '../store/eventStore.ts';
import type { ItemStore } from '../store/itemStore.ts';
import type { ProcessStore } from '../store/processStore.ts';
import type { RunStore } from '../store/runStore.ts';
import type { RunEndReports } from '../webhooks/runEndReports.ts';
import type { CancelAction, RunService } from './runService.ts';
import { jittered } from './changePoller.ts';
import type { ProcessLease } from './processLease.ts';

const CLAIM_INTERVAL_MS = 1_000;

/** How often to read other processes' requests about this process's runs, in milliseconds. */
const REQUEST_POLL_INTERVAL_MS = 500;

/** How often expired rows are removed, in milliseconds. */
const CLEANUP_INTERVAL_MS = 60_000;

interface RunOwnershipParts {
  readonly runs: RunStore;
  readonly processes: ProcessStore;
  readonly events: EventStore;
  readonly items: ItemStore;
  readonly endReports: RunEndReports;
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
    const { lease, processes, endReports, runs, service } = this.#parts;
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
    await endReports.sendDue();
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
    const { events, items, runs } = this.#parts;
    await events.removeExpired();
    await items.dropExpired();
    await runs.removeExpired();
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
