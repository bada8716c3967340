import { type Logger } from 'pino';

import { type CheckpointStore } from '../store/checkpointStore.ts';
import { HEARTBEAT_MS, type ProcessStore } from '../store/processStore.ts';
import { type RunRecord, type RunStore } from '../store/runStore.ts';
import { type CancelAction, type RunService } from './runService.ts';

/** How often requests of other processes to cancel our runs are looked for, in milliseconds, while we have runs. */
const CANCEL_POLL_MS = 500;

/**
 * What connects the processes of one deployment (the revision that serves, the one that is drained, the one after a
 * crash): signs of life, requests to cancel, and the runs of processes that died.
 *
 * A dead process's `pending` runs never began: they are taken up. Its `running` ones did something that cannot be
 * known: they end with status `error` and the reason. None stays `running` for ever.
 */
export class RunOwnership {
  readonly #runs: RunStore;
  readonly #processes: ProcessStore;
  readonly #checkpoints: CheckpointStore;
  readonly #service: RunService;
  readonly #log: Logger;
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(options: {
    runs: RunStore;
    processes: ProcessStore;
    checkpoints: CheckpointStore;
    service: RunService;
    log: Logger;
  }) {
    this.#runs = options.runs;
    this.#processes = options.processes;
    this.#checkpoints = options.checkpoints;
    this.#service = options.service;
    this.#log = options.log;
  }

  /** Enters this process, settles what dead ones left, and goes on doing so. */
  async start(): Promise<void> {
    await this.#processes.heartbeat();
    await this.#settleOrphans();
    this.#every(HEARTBEAT_MS, async () => {
      await this.#processes.heartbeat();
      await this.#settleOrphans();
    });
    this.#every(CANCEL_POLL_MS, async () => {
      if (this.#service.activeCount > 0) await this.#obeyCancelRequests();
    });
  }

  /** Takes this process off the list: what is left of its runs is up to others. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#processes.leave();
  }

  async #settleOrphans(): Promise<void> {
    await this.#settleLost();
    const dead = await this.#processes.dead(await this.#runs.otherOwners());
    if (dead.length === 0) return;
    for (const run of await this.#runs.activeOfOwners(dead)) {
      if (run.status === 'running') await this.#endOrphan(run, 'ServerDied', diedIn(run));
      else if (await this.#service.adopt(run))
        this.#log.info({ runId: run.run_id }, 'took up a run of a dead process');
    }
    await this.#processes.leave(dead);
  }

  /** Our own runs that are over, but whose end could not be stored when it came: the database was away. */
  async #settleLost(): Promise<void> {
    for (const run of await this.#runs.activeOfOwners([this.#processes.processId])) {
      if (this.#service.live(run.run_id) !== undefined) continue;
      // While this process drains, what is pending waits for the next one.
      if (run.status === 'pending' && this.#service.closing) continue;
      await this.#endOrphan(run, 'EndLost', 'The run has ended, and how could not be stored when it did.');
    }
  }

  async #endOrphan(run: RunRecord, name: string, message: string): Promise<void> {
    const error = { error: name, message };
    const thread = { status: 'error', values: undefined, interrupts: '{}' } as const;
    await this.#runs.finish(run, { status: 'error', error, thread });
    await this.#checkpoints.dropRemembered([run.run_id]);
    this.#log.warn({ runId: run.run_id }, 'ended a run that nothing executes any more');
  }

  async #obeyCancelRequests(): Promise<void> {
    for (const request of await this.#runs.cancelRequests()) {
      this.#service.stop(request.run_id, request.cancel_action as CancelAction);
    }
  }

  /** A failure (the database is away) is told and tried again the next time; one round never overtakes another. */
  #every(milliseconds: number, work: () => Promise<void>): void {
    let busy = false;
    const timer = setInterval(() => {
      if (busy) return;
      busy = true;
      work()
        .catch((error: unknown) => this.#log.error({ err: error }, 'keeping up with other processes failed'))
        .finally(() => {
          busy = false;
        });
    }, milliseconds);
    timer.unref();
    this.#timers.push(timer);
  }
}

function diedIn(run: RunRecord): string {
  return `The server that executed the run died in attempt ${run.attempt}; what the run did until then remains.`;
}
