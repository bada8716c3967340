import type { Logger } from 'pino';

import type { CheckpointStore } from '../store/checkpointStore.ts';
import type { EventStore } from '../store/eventStore.ts';
import type { ItemStore } from '../store/itemStore.ts';
import type { ProcessStore } from '../store/processStore.ts';
import type { RunLeases } from '../store/runLeases.ts';
import type { RunStore } from '../store/runStore.ts';
import type { ProcessLease } from './processLease.ts';
import type { CancelAction, RunService } from './runService.ts';
import { jittered } from './watch.ts';

/** How often runs that nobody executes are looked for, in milliseconds. */
const CLAIM_MS = 1_000;

/** How often what other processes ask of our runs is looked for, in milliseconds, while we have runs. */
const REQUESTS_MS = 500;

/** How often what nobody needs any more is removed, in milliseconds. */
const FORGET_MS = 60_000;

/**
 * What connects the processes of one deployment (the revision that serves, the one that is drained, the one after a
 * crash or a rollback): runs that nobody executes are taken up, what others ask of our runs is obeyed.
 *
 * Each of its three tasks is one look at the database for all runs, at jittered times: processes that were started
 * together do not come together. The process that accepts a run starts it itself and waits for none of this.
 */
export class RunOwnership {
  readonly #runs: RunStore;
  readonly #leases: RunLeases;
  readonly #processes: ProcessStore;
  readonly #checkpoints: CheckpointStore;
  readonly #events: EventStore;
  readonly #items: ItemStore;
  readonly #lease: ProcessLease;
  readonly #service: RunService;
  readonly #log: Logger;
  readonly #timers = new Set<NodeJS.Timeout>();
  #claiming: Promise<void> | undefined;
  #stopped = false;

  constructor(options: {
    runs: RunStore;
    leases: RunLeases;
    processes: ProcessStore;
    checkpoints: CheckpointStore;
    events: EventStore;
    items: ItemStore;
    lease: ProcessLease;
    service: RunService;
    log: Logger;
  }) {
    this.#runs = options.runs;
    this.#leases = options.leases;
    this.#processes = options.processes;
    this.#checkpoints = options.checkpoints;
    this.#events = options.events;
    this.#items = options.items;
    this.#lease = options.lease;
    this.#service = options.service;
    this.#log = options.log;
  }

  /** Takes up what there is to take up, and goes on doing so. */
  async start(): Promise<void> {
    await this.takeUp();
    this.#every(CLAIM_MS, () => this.takeUp());
    this.#every(REQUESTS_MS, () => this.#obeyRequests());
    this.#every(FORGET_MS, () => this.#forget());
  }

  /** Takes nothing up any more, and obeys nobody. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#claiming;
  }

  /** Takes up the runs that nobody executes, now. Calls at the same time share one look. */
  async takeUp(): Promise<void> {
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = undefined;
    });
    await this.#claiming;
  }

  async #claim(): Promise<void> {
    if (this.#stopped || this.#service.closing || !this.#lease.holds) return;
    await this.#processes.removeDead();
    const held = this.#service.takeUnsettled();
    try {
      for (const run of await this.#leases.claim(held)) this.#service.adopt(run);
    } catch (error) {
      if (held !== undefined) this.#service.noteUnsettled();
      throw error;
    }
  }

  async #obeyRequests(): Promise<void> {
    if (this.#service.isIdle) return;
    for (const { run_id: runId, cancel_action: action, followed } of await this.#leases.requests()) {
      if (followed) this.#service.live(runId)?.storeEvents();
      if (action !== null) this.#service.stop(runId, action as CancelAction);
    }
  }

  async #forget(): Promise<void> {
    await this.#events.dropOld();
    await this.#items.dropExpired();
    for (const threadId of await this.#runs.removeExpired()) await this.#checkpoints.deleteThread(threadId);
  }

  /** A failure (the database is away) is told and tried again the next time; one round never overtakes another. */
  #every(milliseconds: number, work: () => Promise<void>): void {
    const next = () => {
      if (this.#stopped) return;
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        work()
          .catch((error: unknown) => this.#log.warn({ err: error }, 'keeping up with other processes failed'))
          .finally(next);
      }, jittered(milliseconds));
      timer.unref();
      this.#timers.add(timer);
    };
    next();
  }
}
