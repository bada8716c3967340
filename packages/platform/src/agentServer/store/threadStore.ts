import { randomUUID } from 'node:crypto';

import { type Kysely, type Selectable, sql } from 'kysely';

import { HttpProblem } from '../../http/problem.ts';
import type { AgentTables, ThreadsTable } from './agentDatabase.ts';
import { threadNotFound } from './runStore.ts';

/** A stored thread. */
export type ThreadRecord = Selectable<ThreadsTable>;

/** What threads can be searched for. */
export interface ThreadSearch {
  readonly metadata?: Record<string, unknown>;
  readonly values?: Record<string, unknown>;
  readonly status?: string;
  readonly ids?: readonly string[];
  readonly limit: number;
  readonly offset: number;
  readonly sortBy: 'thread_id' | 'status' | 'created_at' | 'updated_at';
  readonly sortOrder: 'asc' | 'desc';
}

/** Where threads are kept (contract 001, "Thread"). Their checkpoints are the `CheckpointStore`'s. */
export class ThreadStore {
  readonly #db: Kysely<AgentTables>;
  readonly #deploymentId: string;

  constructor(options: { db: Kysely<AgentTables>; deploymentId: string }) {
    this.#db = options.db;
    this.#deploymentId = options.deploymentId;
  }

  /**
   * Makes a thread: `idle`, without values. With the id of one that exists, `ifExists` decides.
   * @throws HttpProblem 409 where it exists and `ifExists` is `raise`.
   */
  async create(thread: {
    threadId?: string;
    metadata?: Record<string, unknown>;
    ifExists: 'raise' | 'do_nothing';
  }): Promise<ThreadRecord> {
    const threadId = thread.threadId ?? randomUUID();
    const created = await this.#db
      .insertInto('slipway_agent.threads')
      .values({
        deployment_id: this.#deploymentId,
        thread_id: threadId,
        metadata: JSON.stringify(thread.metadata ?? {}),
        status: 'idle',
        config: '{}',
        values: null,
        interrupts: '{}',
        error: null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst();
    if (created !== undefined) return created;
    if (thread.ifExists === 'raise') throw new HttpProblem(409, `Thread ${threadId} exists already.`);
    return this.get(threadId);
  }

  /** @throws HttpProblem 404 */
  async get(threadId: string): Promise<ThreadRecord> {
    const thread = await this.#db
      .selectFrom('slipway_agent.threads')
      .selectAll()
      .where('deployment_id', '=', this.#deploymentId)
      .where('thread_id', '=', threadId)
      .executeTakeFirst();
    if (thread === undefined) throw threadNotFound(threadId);
    return thread;
  }

  /** Adds to a thread's metadata: names that are given replace those that are there. @throws HttpProblem 404 */
  async patchMetadata(threadId: string, metadata: Record<string, unknown>): Promise<ThreadRecord> {
    const patched = await this.#db
      .updateTable('slipway_agent.threads')
      .set({ metadata: sql`metadata || ${JSON.stringify(metadata)}::jsonb`, updated_at: sql<Date>`now()` })
      .where('deployment_id', '=', this.#deploymentId)
      .where('thread_id', '=', threadId)
      .returningAll()
      .executeTakeFirst();
    if (patched === undefined) throw threadNotFound(threadId);
    return patched;
  }

  /** Writes down a state that was set by hand: JSON texts. */
  async setState(
    threadId: string,
    state: { values: string; interrupts: string; status: string },
  ): Promise<void> {
    await this.#db
      .updateTable('slipway_agent.threads')
      .set({
        values: state.values,
        interrupts: state.interrupts,
        status: sql<string>`CASE WHEN status = 'busy' THEN status ELSE ${state.status} END`,
        updated_at: sql<Date>`now()`,
      })
      .where('deployment_id', '=', this.#deploymentId)
      .where('thread_id', '=', threadId)
      .execute();
  }

  /** Removes a thread and the records of its runs. @throws HttpProblem 404 */
  async remove(threadId: string): Promise<void> {
    await this.#db.transaction().execute(async (transaction) => {
      const removed = await transaction
        .deleteFrom('slipway_agent.threads')
        .where('deployment_id', '=', this.#deploymentId)
        .where('thread_id', '=', threadId)
        .returning('thread_id')
        .executeTakeFirst();
      if (removed === undefined) throw threadNotFound(threadId);
      await transaction
        .deleteFrom('slipway_agent.runs')
        .where('deployment_id', '=', this.#deploymentId)
        .where('thread_id', '=', threadId)
        .execute();
    });
  }

  /** What tells whether threads have changed, of those that there are: it is another one after each change. */
  async versions(threadIds: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.#db
      .selectFrom('slipway_agent.threads')
      .select(['thread_id', sql<string>`updated_at::text`.as('version')])
      .where('deployment_id', '=', this.#deploymentId)
      .where('thread_id', '=', sql<string>`ANY(${threadIds}::uuid[])`)
      .execute();
    return new Map(rows.map(({ thread_id: threadId, version }) => [threadId, version]));
  }

  async search(search: ThreadSearch): Promise<ThreadRecord[]> {
    return this.#matching(search)
      .selectAll()
      .orderBy(search.sortBy, search.sortOrder)
      .orderBy('thread_id')
      .limit(search.limit)
      .offset(search.offset)
      .execute();
  }

  async count(search: Pick<ThreadSearch, 'metadata' | 'values' | 'status'>): Promise<number> {
    const row = await this.#matching(search)
      .select(sql<string>`count(*)`.as('count'))
      .executeTakeFirstOrThrow();
    return Number(row.count);
  }

  #matching(search: Pick<ThreadSearch, 'metadata' | 'values' | 'status' | 'ids'>) {
    let query = this.#db.selectFrom('slipway_agent.threads').where('deployment_id', '=', this.#deploymentId);
    if (search.status !== undefined) query = query.where('status', '=', search.status);
    if (search.ids !== undefined)
      query = query.where('thread_id', '=', sql<string>`ANY(${search.ids}::uuid[])`);
    if (search.metadata !== undefined) {
      query = query.where(sql<boolean>`metadata @> ${JSON.stringify(search.metadata)}::jsonb`);
    }
    if (search.values !== undefined) {
      // `json` holds U+0000, which `jsonb` refuses: such values match nothing instead of failing the search.
      query = query.where(sql<boolean>`CASE WHEN strpos("values"::text, '\\u0000') > 0 THEN false
        ELSE "values"::jsonb @> ${JSON.stringify(search.values)}::jsonb END`);
    }
    return query;
  }
}
