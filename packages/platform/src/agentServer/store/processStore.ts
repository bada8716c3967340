import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

import { sql } from 'kysely';

import { isAlive } from '../../store/homeLock.ts';
import { type Deployment, DeploymentStore } from './agentDatabase.ts';

/**
 * The processes that may execute a deployment's runs. A row is a lease on all runs whose owner it is; without the
 * row, other processes may claim them. Time is the database's, so no two clocks are compared.
 *
 * A process is dead if it was silent for its lease, or, on this machine, if its pid is gone.
 */
export class ProcessStore extends DeploymentStore {
  readonly processId = `${hostname()}/${process.pid}/${randomUUID()}`;
  readonly #leaseMs: number;

  constructor(options: Deployment & { leaseMs: number }) {
    super(options);
    this.#leaseMs = options.leaseMs;
  }

  /**
   * Renews this process's lease: one statement, whatever the number of its runs. Returns `entered` if it was not on
   * the list: it is new, or another process removed it as dead, and may have claimed its runs.
   */
  async heartbeat(): Promise<'entered' | 'kept'> {
    const row = await this.db
      .insertInto('slipway_agent.processes')
      .values({
        process_id: this.processId,
        deployment_id: this.deploymentId,
        host: HOST,
        pid: process.pid,
        lease_ms: this.#leaseMs,
      })
      .onConflict((conflict) => conflict.column('process_id').doUpdateSet({ heartbeat_at: sql<Date>`now()` }))
      .returning(sql<boolean>`xmax = 0`.as('entered'))
      .executeTakeFirstOrThrow();
    return row.entered ? 'entered' : 'kept';
  }

  /** Removes dead processes of the deployment from the list: those that are silent, and those whose pid is gone. */
  async removeDead(): Promise<void> {
    const rows = await this.db
      // The clock has gone back: without this, a dead process would have its lease until the clock comes there again.
      .with('later', (db) =>
        db
          .updateTable('slipway_agent.processes')
          .set({ heartbeat_at: sql<Date>`now()` })
          .where('deployment_id', '=', this.deploymentId)
          .where('heartbeat_at', '>', sql<Date>`now()`),
      )
      .selectFrom('slipway_agent.processes')
      .select(['process_id', 'host', 'pid', LEASE_EXPIRED.as('silent')])
      .where('deployment_id', '=', this.deploymentId)
      .where('process_id', '!=', this.processId)
      .execute();
    const dead = rows.filter((row) => row.silent || (row.host === HOST && !isAnotherLiveProcess(row.pid)));
    if (dead.length === 0) return;
    const exited = dead.filter((row) => !row.silent).map((row) => row.process_id);
    // A silent process may have come back since the query.
    await this.db
      .deleteFrom('slipway_agent.processes')
      .where('process_id', 'in', [...dead.map((row) => row.process_id)])
      .where((where) =>
        where.or([LEASE_EXPIRED, where('process_id', '=', sql<string>`ANY(${exited}::text[])`)]),
      )
      .execute();
  }

  /** Removes this process from the list: it executes nothing any more. */
  async unregister(): Promise<void> {
    await this.db.deleteFrom('slipway_agent.processes').where('process_id', '=', this.processId).execute();
  }
}

const LEASE_EXPIRED = sql<boolean>`heartbeat_at < now() - lease_ms * interval '1 millisecond'`;

/** The scope in which pids are comparable: the machine, and on Linux its pid namespace. */
const HOST = `${hostname()} ${pidNamespace()}`;

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return process.platform;
  }
}

/** A container's only process always has the same pid, so our own pid does not prove that an earlier process lives. */
function isAnotherLiveProcess(pid: number): boolean {
  return pid !== process.pid && isAlive(pid);
}
