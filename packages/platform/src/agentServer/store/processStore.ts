import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

import { sql } from 'kysely';

import { isAlive } from '../../store/homeLock.ts';
import { type Deployment, DeploymentStore } from './agentDatabase.ts';

/**
 * Which processes may execute a deployment's runs. A row is a lease on all runs that name it as their owner; taking
 * the row away is what makes them anybody's. Time is the database's: no two clocks are compared.
 *
 * A process of this machine is dead when its pid is; any process is when it has been silent for its lease.
 */
export class ProcessStore extends DeploymentStore {
  readonly processId = `${hostname()}/${process.pid}/${randomUUID()}`;
  readonly #leaseMs: number;

  constructor(options: Deployment & { leaseMs: number }) {
    super(options);
    this.#leaseMs = options.leaseMs;
  }

  /**
   * Says that this process lives: one statement, whatever the number of its runs. Answers `entered` where it was not
   * on the list: it is new, or the others took it for dead, and then its runs are not its own any more.
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

  /** Takes dead processes of the deployment off the list: those that are silent, those whose pid is gone. */
  async removeDead(): Promise<void> {
    const rows = await this.db
      .selectFrom('slipway_agent.processes')
      .select(['process_id', 'host', 'pid', SILENT.as('silent')])
      .where('deployment_id', '=', this.deploymentId)
      .where('process_id', '!=', this.processId)
      .execute();
    const dead = rows.filter((row) => row.silent || (row.host === HOST && !isAnothersLife(row.pid)));
    if (dead.length === 0) return;
    const gone = dead.filter((row) => !row.silent).map((row) => row.process_id);
    // One that was silent may have come back between the look and this.
    await this.db
      .deleteFrom('slipway_agent.processes')
      .where('process_id', 'in', [...dead.map((row) => row.process_id)])
      .where((where) => where.or([SILENT, where('process_id', '=', sql<string>`ANY(${gone}::text[])`)]))
      .execute();
  }

  /** Takes this process off the list: it executes nothing any more. */
  async leave(): Promise<void> {
    await this.db.deleteFrom('slipway_agent.processes').where('process_id', '=', this.processId).execute();
  }
}

const SILENT = sql<boolean>`heartbeat_at < now() - lease_ms * interval '1 millisecond'`;

/** Where pids mean the same: the machine, and on Linux the process namespace within it. */
const HOST = `${hostname()} ${pidNamespace()}`;

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return process.platform;
  }
}

/** A container's only process has the same pid each time: our own pid is not the life of the one before us. */
function isAnothersLife(pid: number): boolean {
  return pid !== process.pid && isAlive(pid);
}
