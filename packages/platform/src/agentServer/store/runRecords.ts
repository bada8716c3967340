import { type Selectable, sql } from 'kysely';

import { HttpProblem } from '../../http/problem.ts';
import { DeploymentStore, type RunsTable } from './agentDatabase.ts';

/** A stored run. */
export type RunRecord = Selectable<RunsTable>;

/** The statuses of runs that have not ended. */
export const ACTIVE = ['pending', 'running'];

export function isActive(run: Pick<RunRecord, 'status'>): boolean {
  return ACTIVE.includes(run.status);
}

/** The most runs that {@link RunRecords.runsAfter} returns. */
const RUNS_AFTER_MAX = 100;

/** Finds runs of a deployment. */
export class RunRecords extends DeploymentStore {
  async find(threadId: string, runId: string): Promise<RunRecord | undefined> {
    return this.#selectOfThread(threadId).where('run_id', '=', runId).executeTakeFirst();
  }

  /** @throws HttpProblem 404 */
  async get(threadId: string, runId: string): Promise<RunRecord> {
    const run = await this.find(threadId, runId);
    if (run === undefined) throw new HttpProblem(404, `Run ${runId} of thread ${threadId} not found.`);
    return run;
  }

  async findById(runId: string): Promise<RunRecord | undefined> {
    return this.#selectOwn().where('run_id', '=', runId).executeTakeFirst();
  }

  /** A thread's runs, newest first. */
  async list(
    threadId: string,
    options: { limit?: number; offset: number; status?: string },
  ): Promise<RunRecord[]> {
    let query = this.#selectOfThread(threadId);
    if (options.status !== undefined) query = query.where('status', '=', options.status);
    if (options.limit !== undefined) query = query.limit(options.limit);
    return query.orderBy('sequence', 'desc').offset(options.offset).execute();
  }

  /** The deployment's runs with these statuses, oldest first. */
  async withStatus(statuses: readonly string[]): Promise<RunRecord[]> {
    return this.#selectOwn().where('status', 'in', statuses).orderBy('sequence').execute();
  }

  /** A thread's active runs, oldest first; only those in `runIds` if given. */
  async activeRuns(threadId: string, runIds?: readonly string[]): Promise<RunRecord[]> {
    const active = this.#selectOfThread(threadId).where('status', 'in', ACTIVE).orderBy('sequence');
    if (runIds === undefined) return active.execute();
    return active.where('run_id', '=', sql<string>`ANY(${runIds}::uuid[])`).execute();
  }

  /** A thread's runs after a sequence, oldest first: at most {@link RUNS_AFTER_MAX}. */
  async runsAfter(threadId: string, sequence: bigint): Promise<RunRecord[]> {
    return this.#selectOfThread(threadId)
      .where('sequence', '>', String(sequence))
      .orderBy('sequence')
      .limit(RUNS_AFTER_MAX)
      .execute();
  }

  /** The given runs that are still active, in any process. */
  async filterActive(runIds: readonly string[]): Promise<Set<string>> {
    const rows = await this.db
      .selectFrom('slipway_agent.runs')
      .select('run_id')
      .where('run_id', '=', sql<string>`ANY(${runIds}::uuid[])`)
      .where('status', 'in', ACTIVE)
      .execute();
    return new Set(rows.map((row) => row.run_id));
  }

  #selectOfThread(threadId: string) {
    return this.#selectOwn().where('thread_id', '=', threadId);
  }

  #selectOwn() {
    return this.db
      .selectFrom('slipway_agent.runs')
      .selectAll()
      .where('deployment_id', '=', this.deploymentId);
  }
}
