import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

import { type Kysely, sql } from 'kysely';

import { isAlive } from '../../store/liveProcess.ts';
import { type AgentTables } from './agentDatabase.ts';

/** How often a process says that it lives, in milliseconds. */
export const HEARTBEAT_MS = 2_000;

/** After how much silence a process counts as dead, in milliseconds, where its pid cannot be looked at. */
export const DEAD_AFTER_MS = 15_000;

/**
 * Which processes execute runs, so that the runs of a dead one do not stay `running` for ever. A process of this
 * machine is dead when its pid is; one of another machine when it has been silent for {@link DEAD_AFTER_MS}.
 */
export class ProcessStore {
  readonly processId = `${hostname()}/${process.pid}/${randomUUID()}`;
  readonly #db: Kysely<AgentTables>;
  readonly #deploymentId: string;

  constructor(options: { db: Kysely<AgentTables>; deploymentId: string }) {
    this.#db = options.db;
    this.#deploymentId = options.deploymentId;
  }

  /** Enters this process, or says that it still lives. */
  async heartbeat(): Promise<void> {
    await this.#db
      .insertInto('slipway_agent.processes')
      .values({
        process_id: this.processId,
        deployment_id: this.#deploymentId,
        host: hostname(),
        pid: process.pid,
      })
      .onConflict((conflict) => conflict.column('process_id').doUpdateSet({ heartbeat_at: sql<Date>`now()` }))
      .execute();
  }

  /** Which of the given processes are dead; one that was never entered, or left, counts as dead. */
  async dead(processIds: readonly string[]): Promise<string[]> {
    if (processIds.length === 0) return [];
    const rows = await this.#db
      .selectFrom('slipway_agent.processes')
      .select([
        'process_id',
        'host',
        'pid',
        sql<boolean>`heartbeat_at < now() - ${DEAD_AFTER_MS} * interval '1 millisecond'`.as('silent'),
      ])
      .where('process_id', 'in', [...processIds])
      .execute();
    const known = new Map(rows.map((row) => [row.process_id, row]));
    return processIds.filter((id) => {
      const row = known.get(id);
      if (row === undefined || row.silent) return true;
      return row.host === hostname() && !isAlive(row.pid);
    });
  }

  /** Takes this process, and dead ones, off the list. */
  async leave(processIds: readonly string[] = [this.processId]): Promise<void> {
    if (processIds.length === 0) return;
    await this.#db
      .deleteFrom('slipway_agent.processes')
      .where('process_id', 'in', [...processIds])
      .execute();
  }
}
