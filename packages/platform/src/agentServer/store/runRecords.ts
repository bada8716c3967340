import type { Kysely, Selectable } from 'kysely';

import { HttpProblem } from '../../http/problem.ts';
import type { AgentTables, RunsTable } from './agentDatabase.ts';

/** A stored run. */
export type RunRecord = Selectable<RunsTable>;

/** The statuses of runs that are to end yet. */
export const ACTIVE = ['pending', 'running'];

/** Whose runs are kept, and which process of the deployment keeps them. */
export interface RunKeeper {
  readonly db: Kysely<AgentTables>;
  readonly deploymentId: string;
  readonly processId: string;
}

/** Finds runs. */
export class RunRecords {
  readonly #db: Kysely<AgentTables>;
  readonly #deploymentId: string;

  constructor(options: { db: Kysely<AgentTables>; deploymentId: string }) {
    this.#db = options.db;
    this.#deploymentId = options.deploymentId;
  }

  /** A run of a thread. */
  async find(threadId: string, runId: string): Promise<RunRecord | undefined> {
    return this.#mine().where('thread_id', '=', threadId).where('run_id', '=', runId).executeTakeFirst();
  }

  /** The same, for who must have it. @throws HttpProblem 404 */
  async get(threadId: string, runId: string): Promise<RunRecord> {
    const run = await this.find(threadId, runId);
    if (run === undefined) throw new HttpProblem(404, `Run ${runId} of thread ${threadId} not found.`);
    return run;
  }

  /** A run, whatever thread it is of. */
  async byId(runId: string): Promise<RunRecord | undefined> {
    return this.#mine().where('run_id', '=', runId).executeTakeFirst();
  }

  /** A thread's runs, newest first. */
  async list(
    threadId: string,
    options: { limit?: number | undefined; offset: number; status?: string | undefined },
  ): Promise<RunRecord[]> {
    let query = this.#mine().where('thread_id', '=', threadId);
    if (options.status !== undefined) query = query.where('status', '=', options.status);
    if (options.limit !== undefined) query = query.limit(options.limit);
    return query.orderBy('sequence', 'desc').offset(options.offset).execute();
  }

  /** The deployment's active runs, oldest first: of the given statuses, or of the given ids. */
  async active(filter: { statuses: readonly string[] } | { threadId: string; runIds: readonly string[] }) {
    const query = this.#mine().orderBy('sequence');
    if ('statuses' in filter) return query.where('status', 'in', [...filter.statuses]).execute();
    if (filter.runIds.length === 0) return [];
    return query
      .where('status', 'in', ACTIVE)
      .where('thread_id', '=', filter.threadId)
      .where('run_id', 'in', [...filter.runIds])
      .execute();
  }

  /** A thread's active runs, oldest first. */
  async activeOfThread(threadId: string): Promise<RunRecord[]> {
    return activeOf(this.#db, this.#deploymentId, threadId);
  }

  /** A thread's runs behind a sequence, oldest first: as many as one look gives. */
  async behind(threadId: string, sequence: bigint): Promise<RunRecord[]> {
    return this.#mine()
      .where('thread_id', '=', threadId)
      .where('sequence', '>', String(sequence))
      .orderBy('sequence')
      .limit(LOOK_MAX)
      .execute();
  }

  #mine() {
    return this.#db
      .selectFrom('slipway_agent.runs')
      .selectAll()
      .where('deployment_id', '=', this.#deploymentId);
  }
}

/** The most runs that one look behind a sequence gives. */
const LOOK_MAX = 100;

/** A thread's active runs, oldest first, as a transaction sees them. */
export async function activeOf(
  db: Kysely<AgentTables>,
  deploymentId: string,
  threadId: string,
): Promise<RunRecord[]> {
  return db
    .selectFrom('slipway_agent.runs')
    .selectAll()
    .where('deployment_id', '=', deploymentId)
    .where('thread_id', '=', threadId)
    .where('status', 'in', ACTIVE)
    .orderBy('sequence')
    .execute();
}
