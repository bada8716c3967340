import { randomUUID } from 'node:crypto';

import type { AssistantSearch } from '@slipway/contract/runApi/assistant';
import { type RawBuilder, type Selectable, sql } from 'kysely';

import { HttpProblem } from '../../http/problem.ts';
import { type AssistantVersionsTable, DeploymentStore } from './agentDatabase.ts';

/** An assistant as on the wire (the public client's fields: contract 001 shows none). */
export type AssistantRecord = Omit<Selectable<AssistantVersionsTable>, 'deployment_id'> & {
  readonly updated_at: Date;
};

/** The fields of an assistant that a client may set. */
export type AssistantContent = Omit<
  AssistantRecord,
  'assistant_id' | 'version' | 'created_at' | 'updated_at'
>;

export type VersionQuery = Pick<AssistantSearch, 'metadata' | 'limit' | 'offset'>;

/** The assistants that clients created. Each change makes a version; one of them is current. */
export class AssistantStore extends DeploymentStore {
  /** @throws HttpProblem 409 if the id exists and `ifExists` is `raise`. */
  async create(
    content: AssistantContent,
    options: { assistantId?: string; ifExists: 'raise' | 'do_nothing' },
  ): Promise<AssistantRecord> {
    const assistantId = options.assistantId ?? randomUUID();
    const created = await sql`
      WITH made AS (
        INSERT INTO slipway_agent.assistants (deployment_id, assistant_id, version)
        VALUES (${this.deploymentId}, ${assistantId}, 1) ON CONFLICT DO NOTHING RETURNING assistant_id
      )
      INSERT INTO slipway_agent.assistant_versions ${VERSION_COLUMNS}
      SELECT ${this.deploymentId}, assistant_id, 1, ${content.graph_id}, ${content.name}, ${content.description},
        ${JSON.stringify(content.config)}::json, ${JSON.stringify(content.context)}::json,
        ${JSON.stringify(content.metadata)}::jsonb
      FROM made RETURNING 1`.execute(this.db);
    if (created.rows.length === 0 && options.ifExists === 'raise')
      throw new HttpProblem(409, `Assistant ${assistantId} exists already.`);
    return this.get(assistantId);
  }

  async find(assistantId: string, db = this.db): Promise<AssistantRecord | undefined> {
    return this.#current(db).where('a.assistant_id', '=', assistantId).executeTakeFirst();
  }

  /** @throws HttpProblem 404 */
  async get(assistantId: string, db = this.db): Promise<AssistantRecord> {
    const found = await this.find(assistantId, db);
    if (found === undefined) throw assistantNotFound(assistantId);
    return found;
  }

  /** Makes a new current version from the current one. Metadata is merged. @throws HttpProblem 404 */
  async revise(assistantId: string, patch: Partial<AssistantContent>): Promise<AssistantRecord> {
    const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value));
    const mine = this.#mine(assistantId);
    return this.db.transaction().execute(async (db) => {
      const locked = await sql`SELECT 1 FROM slipway_agent.assistants WHERE ${mine} FOR UPDATE`.execute(db);
      if (locked.rows.length === 0) throw assistantNotFound(assistantId);
      await sql`
        WITH added AS (
          INSERT INTO slipway_agent.assistant_versions ${VERSION_COLUMNS}
          SELECT deployment_id, assistant_id,
            (SELECT max(version) + 1 FROM slipway_agent.assistant_versions WHERE ${mine}),
            coalesce(${patch.graph_id ?? null}, graph_id), coalesce(${patch.name ?? null}, name),
            coalesce(${patch.description ?? null}, description), coalesce(${json(patch.config)}::json, config),
            coalesce(${json(patch.context)}::json, context), metadata || ${JSON.stringify(patch.metadata ?? {})}::jsonb
          FROM slipway_agent.assistant_versions
          WHERE ${mine} AND version = (SELECT version FROM slipway_agent.assistants WHERE ${mine})
          RETURNING version
        )
        UPDATE slipway_agent.assistants SET version = (SELECT version FROM added), updated_at = now()
        WHERE ${mine}`.execute(db);
      return this.get(assistantId, db);
    });
  }

  /** Makes an earlier version the current one. @throws HttpProblem 404 for an unknown assistant or version. */
  async setVersion(assistantId: string, version: number): Promise<AssistantRecord> {
    const mine = this.#mine(assistantId);
    return this.db.transaction().execute(async (db) => {
      const { rows } = await sql`
        UPDATE slipway_agent.assistants SET version = ${version}, updated_at = now()
        WHERE ${mine} AND EXISTS (
          SELECT 1 FROM slipway_agent.assistant_versions WHERE ${mine} AND version = ${version})
        RETURNING 1`.execute(db);
      if (rows.length === 0)
        throw new HttpProblem(404, `Assistant ${assistantId} has no version ${version}.`);
      return this.get(assistantId, db);
    });
  }

  async versions(assistantId: string, query: VersionQuery): Promise<AssistantRecord[]> {
    let select = this.#versions()
      .select('v.created_at as updated_at')
      .where('v.assistant_id', '=', assistantId);
    if (query.metadata != null) select = select.where(hasMetadata(query.metadata));
    return select.orderBy('v.version', 'desc').limit(query.limit).offset(query.offset).execute();
  }

  /** @throws HttpProblem 404 */
  async remove(assistantId: string): Promise<void> {
    const { rows } = await sql`
      DELETE FROM slipway_agent.assistants WHERE ${this.#mine(assistantId)} RETURNING 1`.execute(this.db);
    if (rows.length === 0) throw assistantNotFound(assistantId);
  }

  /** The matching assistants, of the stored ones and `system` (those of graphs), and their total. */
  async search(
    query: AssistantSearch,
    system: readonly AssistantRecord[],
  ): Promise<{ found: AssistantRecord[]; total: number }> {
    const matchingSystem = system.filter((each) => matches(each, query));
    let kept = this.#current();
    if (query.graph_id != null) kept = kept.where('v.graph_id', '=', query.graph_id);
    if (query.name != null) kept = kept.where(sql<boolean>`strpos(lower(v.name), lower(${query.name})) > 0`);
    if (query.metadata != null) kept = kept.where(hasMetadata(query.metadata));
    const { count } = await this.db
      .selectFrom(kept.as('kept'))
      .select((each) => each.fn.countAll<string>().as('count'))
      .executeTakeFirstOrThrow();
    const by = query.sort_by ?? 'created_at';
    const order = query.sort_order ?? 'desc';
    const end = query.offset + query.limit;
    const rows = await this.db
      .selectFrom(kept.as('kept'))
      .selectAll()
      // The order of texts must be that of `compare`.
      .orderBy(by.endsWith('_at') ? sql.ref(by) : sql`${sql.ref(by)}::text collate "C"`, order)
      .orderBy('assistant_id')
      .limit(end)
      .execute();
    const merged = [...matchingSystem, ...rows].sort(
      (left, right) => (order === 'asc' ? 1 : -1) * compare(left[by], right[by]),
    );
    return { found: merged.slice(query.offset, end), total: matchingSystem.length + Number(count) };
  }

  #current(db = this.db) {
    return this.#versions(db).whereRef('a.version', '=', 'v.version').select('a.updated_at');
  }

  #versions(db = this.db) {
    return db
      .selectFrom('slipway_agent.assistants as a')
      .innerJoin('slipway_agent.assistant_versions as v', (join) =>
        join.onRef('a.deployment_id', '=', 'v.deployment_id').onRef('a.assistant_id', '=', 'v.assistant_id'),
      )
      .select(['v.assistant_id', 'v.graph_id', 'v.name', 'v.description', 'v.config', 'v.context'])
      .select(['v.metadata', 'v.version', 'a.created_at'])
      .where('a.deployment_id', '=', this.deploymentId);
  }

  #mine(assistantId: string): RawBuilder<unknown> {
    return sql`deployment_id = ${this.deploymentId} AND assistant_id = ${assistantId}`;
  }
}

/** 404 for an assistant that the deployment lacks. */
export function assistantNotFound(assistant: string): HttpProblem {
  return new HttpProblem(404, `Assistant ${assistant} not found.`);
}

const VERSION_COLUMNS = sql`
  (deployment_id, assistant_id, version, graph_id, name, description, config, context, metadata)`;

function hasMetadata(metadata: Record<string, unknown>): RawBuilder<boolean> {
  return sql<boolean>`v.metadata @> ${JSON.stringify(metadata)}::jsonb`;
}

/** Whether an assistant of a graph has what a search asks for. */
export function matches(
  assistant: AssistantRecord,
  query: Pick<AssistantSearch, 'graph_id' | 'name' | 'metadata'>,
): boolean {
  return (
    (query.graph_id == null || assistant.graph_id === query.graph_id) &&
    (query.name == null || assistant.name.toLowerCase().includes(query.name.toLowerCase())) &&
    Object.entries(query.metadata ?? {}).every(([name, value]) => assistant.metadata[name] === value)
  );
}

/** As the database compares: texts by their bytes. */
function compare(left: string | Date, right: string | Date): number {
  if (left instanceof Date || right instanceof Date) return Number(left) - Number(right);
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
