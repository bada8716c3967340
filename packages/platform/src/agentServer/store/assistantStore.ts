import { randomUUID } from 'node:crypto';

import { type Kysely, sql } from 'kysely';

import { HttpProblem } from '../../http/problem.ts';
import type { AgentTables } from './agentDatabase.ts';

/** An assistant (contract 001: "fields not shown"; those of the public client), as it goes over the wire. */
export interface AssistantRecord {
  readonly assistant_id: string;
  readonly graph_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly config: Record<string, unknown>;
  readonly context: Record<string, unknown>;
  readonly metadata: Record<string, unknown>;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** What somebody may say of an assistant. */
export type AssistantContent = Pick<
  AssistantRecord,
  'graph_id' | 'name' | 'description' | 'config' | 'context' | 'metadata'
>;

/** Which assistants, in which order, and which part of them. */
export interface AssistantQuery {
  readonly graphId?: string;
  /** A part of the name, in any case. */
  readonly name?: string;
  readonly metadata?: Record<string, unknown>;
  readonly sortBy?: 'assistant_id' | 'graph_id' | 'name' | 'created_at' | 'updated_at';
  readonly sortOrder?: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
}

/**
 * Where the assistants are kept that somebody made of a deployment's graphs. Each change makes a version; one of them
 * counts. `system` are those that graphs have by themselves: they are searched along, and kept nowhere.
 */
export class AssistantStore {
  readonly #db: Kysely<AgentTables>;
  readonly #deploymentId: string;

  constructor(options: { db: Kysely<AgentTables>; deploymentId: string }) {
    this.#db = options.db;
    this.#deploymentId = options.deploymentId;
  }

  /** @throws HttpProblem 409 where one of that id exists and `ifExists` is `raise`. */
  async create(
    content: AssistantContent,
    options: { assistantId?: string | undefined; ifExists: 'raise' | 'do_nothing' },
  ): Promise<AssistantRecord> {
    const assistantId = options.assistantId ?? randomUUID();
    const created = await this.#db.transaction().execute(async (transaction) => {
      const { numInsertedOrUpdatedRows } = await transaction
        .insertInto('slipway_agent.assistants')
        .values({ deployment_id: this.#deploymentId, assistant_id: assistantId, version: 1 })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      if (numInsertedOrUpdatedRows === 0n) return false;
      await this.#addVersion(transaction, assistantId, 1, content);
      return true;
    });
    if (!created && options.ifExists === 'raise')
      throw new HttpProblem(409, `Assistant ${assistantId} exists already.`);
    return this.get(assistantId);
  }

  async find(assistantId: string): Promise<AssistantRecord | undefined> {
    const row = await this.#current().where('a.assistant_id', '=', assistantId).executeTakeFirst();
    return row && toRecord(row);
  }

  /** @throws HttpProblem 404 */
  async get(assistantId: string): Promise<AssistantRecord> {
    const found = await this.find(assistantId);
    if (found === undefined) throw assistantNotFound(assistantId);
    return found;
  }

  /** Makes a new version, which counts from now on: `change` is told what counts now. @throws HttpProblem 404 */
  async revise(
    assistantId: string,
    change: (current: AssistantRecord) => AssistantContent,
  ): Promise<AssistantRecord> {
    await this.#db.transaction().execute(async (transaction) => {
      const locked = await transaction
        .selectFrom('slipway_agent.assistants')
        .select('assistant_id')
        .where('deployment_id', '=', this.#deploymentId)
        .where('assistant_id', '=', assistantId)
        .forUpdate()
        .executeTakeFirst();
      if (locked === undefined) throw assistantNotFound(assistantId);
      const row = await this.#current(transaction)
        .where('a.assistant_id', '=', assistantId)
        .executeTakeFirstOrThrow();
      const { newest } = await transaction
        .selectFrom('slipway_agent.assistant_versions')
        .select((each) => each.fn.max('version').as('newest'))
        .where('deployment_id', '=', this.#deploymentId)
        .where('assistant_id', '=', assistantId)
        .executeTakeFirstOrThrow();
      await this.#addVersion(transaction, assistantId, newest + 1, change(toRecord(row)));
      await this.#count(transaction, assistantId, newest + 1);
    });
    return this.get(assistantId);
  }

  /** Makes an earlier version count again. @throws HttpProblem 404 for an unknown assistant or version. */
  async setVersion(assistantId: string, version: number): Promise<AssistantRecord> {
    await this.#db.transaction().execute(async (transaction) => {
      const known = await transaction
        .selectFrom('slipway_agent.assistant_versions')
        .select('version')
        .where('deployment_id', '=', this.#deploymentId)
        .where('assistant_id', '=', assistantId)
        .where('version', '=', version)
        .executeTakeFirst();
      if (known === undefined)
        throw new HttpProblem(404, `Assistant ${assistantId} has no version ${version}.`);
      await this.#count(transaction, assistantId, version);
    });
    return this.get(assistantId);
  }

  /** The versions of an assistant, newest first. */
  async versions(
    assistantId: string,
    query: { metadata?: Record<string, unknown> | undefined; limit: number; offset: number },
  ): Promise<AssistantRecord[]> {
    let select = this.#db
      .selectFrom('slipway_agent.assistant_versions as v')
      .innerJoin('slipway_agent.assistants as a', (join) =>
        join.onRef('a.deployment_id', '=', 'v.deployment_id').onRef('a.assistant_id', '=', 'v.assistant_id'),
      )
      .select(COLUMNS)
      .select('v.created_at as updated_at')
      .where('v.deployment_id', '=', this.#deploymentId)
      .where('v.assistant_id', '=', assistantId);
    if (query.metadata !== undefined)
      select = select.where(sql<boolean>`v.metadata @> ${JSON.stringify(query.metadata)}::jsonb`);
    const rows = await select.orderBy('v.version', 'desc').limit(query.limit).offset(query.offset).execute();
    return rows.map(toRecord);
  }

  /** @throws HttpProblem 404 */
  async remove(assistantId: string): Promise<void> {
    const { numDeletedRows } = await this.#db
      .deleteFrom('slipway_agent.assistants')
      .where('deployment_id', '=', this.#deploymentId)
      .where('assistant_id', '=', assistantId)
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) throw assistantNotFound(assistantId);
  }

  /** Those that match, of the kept ones and of `system`, and how many match in all. */
  async search(
    query: AssistantQuery,
    system: readonly AssistantRecord[],
  ): Promise<{ found: AssistantRecord[]; total: number }> {
    const matchingSystem = system.filter((each) => matches(each, query));
    let kept = this.#current();
    if (query.graphId !== undefined) kept = kept.where('v.graph_id', '=', query.graphId);
    if (query.name !== undefined)
      kept = kept.where(sql<boolean>`strpos(lower(v.name), lower(${query.name})) > 0`);
    if (query.metadata !== undefined)
      kept = kept.where(sql<boolean>`v.metadata @> ${JSON.stringify(query.metadata)}::jsonb`);
    const { count } = await this.#db
      .selectFrom(kept.as('kept'))
      .select((each) => each.fn.countAll<string>().as('count'))
      .executeTakeFirstOrThrow();
    const by = query.sortBy ?? 'created_at';
    const order = query.sortOrder ?? 'desc';
    const end = query.offset + query.limit;
    const rows = await this.#db
      .selectFrom(kept.as('kept'))
      .selectAll()
      // Texts in the order in which they are compared here, below.
      .orderBy(by.endsWith('_at') ? sql.ref(by) : sql`${sql.ref(by)}::text collate "C"`, order)
      .orderBy('assistant_id')
      .limit(end)
      .execute();
    const merged = [...matchingSystem, ...rows.map(toRecord)].sort(
      (left, right) => (order === 'asc' ? 1 : -1) * compare(left[by], right[by]),
    );
    return { found: merged.slice(query.offset, end), total: matchingSystem.length + Number(count) };
  }

  #current(db: Kysely<AgentTables> = this.#db) {
    return db
      .selectFrom('slipway_agent.assistants as a')
      .innerJoin('slipway_agent.assistant_versions as v', (join) =>
        join
          .onRef('a.deployment_id', '=', 'v.deployment_id')
          .onRef('a.assistant_id', '=', 'v.assistant_id')
          .onRef('a.version', '=', 'v.version'),
      )
      .select(COLUMNS)
      .select('a.updated_at')
      .where('a.deployment_id', '=', this.#deploymentId);
  }

  async #addVersion(
    db: Kysely<AgentTables>,
    assistantId: string,
    version: number,
    content: AssistantContent,
  ): Promise<void> {
    await db
      .insertInto('slipway_agent.assistant_versions')
      .values({
        deployment_id: this.#deploymentId,
        assistant_id: assistantId,
        version,
        graph_id: content.graph_id,
        name: content.name,
        description: content.description,
        config: JSON.stringify(content.config),
        context: JSON.stringify(content.context),
        metadata: JSON.stringify(content.metadata),
      })
      .execute();
  }

  async #count(db: Kysely<AgentTables>, assistantId: string, version: number): Promise<void> {
    await db
      .updateTable('slipway_agent.assistants')
      .set({ version, updated_at: sql<Date>`now()` })
      .where('deployment_id', '=', this.#deploymentId)
      .where('assistant_id', '=', assistantId)
      .execute();
  }
}

/** 404 for an assistant that the deployment does not have. */
export function assistantNotFound(assistant: string): HttpProblem {
  return new HttpProblem(404, `Assistant ${assistant} not found.`);
}

const COLUMNS = [
  'v.assistant_id',
  'v.graph_id',
  'v.name',
  'v.description',
  'v.config',
  'v.context',
  'v.metadata',
  'v.version',
  'a.created_at',
] as const;

type Row = Omit<AssistantRecord, 'created_at' | 'updated_at'> & { created_at: Date; updated_at: Date };

function toRecord(row: Row): AssistantRecord {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}

function matches(assistant: AssistantRecord, query: AssistantQuery): boolean {
  return (
    (query.graphId === undefined || assistant.graph_id === query.graphId) &&
    (query.name === undefined || assistant.name.toLowerCase().includes(query.name.toLowerCase())) &&
    Object.entries(query.metadata ?? {}).every(([name, value]) => assistant.metadata[name] === value)
  );
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
