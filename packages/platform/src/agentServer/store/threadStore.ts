import type { ThreadSearch } from '@slipway/contract/runApi/thread';
import { type Selectable, sql } from 'kysely';

import { HttpProblem } from '../../http/problem.ts';
import { DeploymentStore, type ThreadsTable } from './agentDatabase.ts';
import { deleteThreads, storedThreadId } from './checkpointTables.ts';
import { threadNotFound, threadTaken } from './threadProblems.ts';

export type ThreadRecord = Selectable<ThreadsTable>;

/** A thread to create, and what to do if its id exists: refuse, or answer the existing thread. */
export interface NewThread {
  readonly threadId: string;
  readonly metadata: Record<string, unknown>;
  readonly ifExists: 'raise' | 'do_nothing';
}

/** The threads of a deployment (contract 001, "Thread"). The `CheckpointStore` writes their checkpoints. */
export class ThreadStore extends DeploymentStore {
  /**
   * Creates a thread: `idle`, without values. If the id exists, `ifExists` decides.
   * @throws HttpProblem 409 if it exists and `ifExists` is `raise`, or if it is the id of a run without a thread.
   */
  async create(thread: NewThread): Promise<ThreadRecord> {
    const { threadId, metadata } = thread;
    const { rows } = await sql<ThreadRecord>`
      INSERT INTO slipway_agent.threads (deployment_id, thread_id, metadata)
      SELECT ${this.deploymentId}, ${threadId}::uuid, ${JSON.stringify(metadata)}::jsonb
      WHERE NOT EXISTS (SELECT 1 FROM slipway_agent.runs WHERE ${this.threadCondition(threadId)})
      ON CONFLICT DO NOTHING RETURNING *`.execute(this.db);
    return rows[0] ?? this.getExisting(thread);
  }

  /** The answer to the creation of a thread whose id is taken. @throws HttpProblem 409 as {@link create} */
  async getExisting({ threadId, ifExists }: NewThread): Promise<ThreadRecord> {
    const [existing] = await this.#matching({ ids: [threadId] })
      .selectAll()
      .execute();
    if (existing === undefined) throw threadTaken(threadId);
    if (ifExists === 'raise') throw new HttpProblem(409, `Thread ${threadId} exists already.`);
    return existing;
  }

  /** Also its version: see {@link versions}. @throws HttpProblem 404 */
  async get(threadId: string): Promise<ThreadRecord & { readonly version: string }> {
    const { rows } = await sql<ThreadRecord & { version: string }>`
      SELECT *, updated_at::text AS version FROM slipway_agent.threads
      WHERE ${this.threadCondition(threadId)}`.execute(this.db);
    return found(rows, threadId);
  }

  /** Merges metadata into a thread's; given names replace existing ones. @throws HttpProblem 404 */
  async patchMetadata(threadId: string, metadata: Record<string, unknown>): Promise<ThreadRecord> {
    const { rows } = await sql<ThreadRecord>`
      UPDATE slipway_agent.threads
      SET metadata = metadata || ${JSON.stringify(metadata)}::jsonb, updated_at = now()
      WHERE ${this.threadCondition(threadId)} RETURNING *`.execute(this.db);
    return found(rows, threadId);
  }

  /** Removes a thread, the records of its runs, and its checkpoints. False if runs are active on it. @throws HttpProblem 404 */
  async remove(threadId: string): Promise<boolean> {
    const mine = this.threadCondition(threadId);
    const isRemoved = await this.db.transaction().execute(async (db) => {
      const { rows } = await sql`
        DELETE FROM slipway_agent.threads WHERE ${mine} AND status <> 'busy' RETURNING 1`.execute(db);
      if (rows.length === 0) return false;
      await sql`DELETE FROM slipway_agent.runs WHERE ${mine}`.execute(db);
      await deleteThreads(db, [storedThreadId(this.deploymentId, threadId)]);
      return true;
    });
    if (!isRemoved) await this.get(threadId);
    return isRemoved;
  }

  /** A text for each existing thread that changes with every change of the thread. */
  async versions(threadIds: string[]): Promise<Map<string, string>> {
    const rows = await this.#matching({ ids: threadIds })
      .select(['thread_id', sql<string>`updated_at::text`.as('version')])
      .execute();
    return new Map(rows.map(({ thread_id: threadId, version }) => [threadId, version]));
  }

  async search(search: ThreadSearch): Promise<ThreadRecord[]> {
    const by = search.sort_by ?? 'created_at';
    return this.#matching(search)
      .selectAll()
      .orderBy(by === 'state_updated_at' ? 'updated_at' : by, search.sort_order ?? 'desc')
      .orderBy('thread_id')
      .limit(search.limit)
      .offset(search.offset)
      .execute();
  }

  async count(filter: ThreadSearch): Promise<number> {
    const row = await this.#matching(filter)
      .select(sql<string>`count(*)`.as('count'))
      .executeTakeFirstOrThrow();
    return Number(row.count);
  }

  #matching(filter: Partial<ThreadSearch>) {
    let query = this.db.selectFrom('slipway_agent.threads').where('deployment_id', '=', this.deploymentId);
    if (filter.status != null) query = query.where('status', '=', filter.status);
    if (filter.ids != null) query = query.where('thread_id', '=', sql<string>`ANY(${filter.ids}::uuid[])`);
    if (filter.metadata != null)
      query = query.where(sql<boolean>`metadata @> ${JSON.stringify(filter.metadata)}::jsonb`);
    if (filter.values != null)
      // `json` may hold U+0000 and lone surrogates, which `jsonb` rejects. Such values match nothing, so that the search
      // does not fail.
      query =
        query.where(sql<boolean>`CASE WHEN "values"::text ~ '[^\\\\](\\\\\\\\)*\\\\u(0000|d[89a-f])' THEN false
        ELSE coalesce("values"::jsonb, '{}') @> ${JSON.stringify(filter.values)}::jsonb END`);
    return query;
  }
}

function found<Thread extends ThreadRecord>([thread]: readonly Thread[], threadId: string): Thread {
  if (thread === undefined) throw threadNotFound(threadId);
  return thread;
}
