import type { ListNamespacesOperation } from '@langchain/langgraph-checkpoint';
import { isRecord } from '@slipway/contract/json';
import { FILTER_OPERATORS, type FilterOperator, type STORE_ENDPOINTS } from '@slipway/contract/runApi/store';
import { type RawBuilder, sql } from 'kysely';
import type { z } from 'zod';

import { DeploymentStore } from './agentDatabase.ts';

export interface ItemAddress {
  readonly namespace: readonly string[];
  readonly key: string;
}

export interface StoredItem extends ItemAddress {
  readonly value: Record<string, unknown>;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** An item to store, or to remove if its value is null. `ttl`: how long to keep it, in minutes; absent: forever. */
export interface ItemChange extends ItemAddress {
  readonly value: Record<string, unknown> | null;
  readonly ttl?: number | null;
}

interface Row extends StoredItem {
  readonly ttl_minutes: number | null;
}

/** The long-term store of a deployment, shared by its graphs, clients and revisions, separate from threads. */
export class ItemStore extends DeploymentStore {
  async get(address: ItemAddress, refreshTtl: boolean): Promise<StoredItem | undefined> {
    const { rows } = await sql<Row>`
      SELECT ${COLUMNS} FROM slipway_agent.store_items
      WHERE deployment_id = ${this.deploymentId} AND namespace = ${address.namespace}::text[]
        AND key = ${address.key} AND ${NOT_EXPIRED}`.execute(this.db);
    if (refreshTtl) await this.#refresh(rows);
    return rows[0];
  }

  /** Stores and removes items in one statement, all or none. Of several changes to one item, the last counts. */
  async change(changes: readonly ItemChange[]): Promise<void> {
    const last = new Map(changes.map((change) => [JSON.stringify([change.namespace, change.key]), change]));
    const given = JSON.stringify(
      [...last.values()].map((change) => ({ ttl: null, ...change, removed: change.value === null })),
    );
    await sql`
      WITH given AS (
        SELECT * FROM jsonb_to_recordset(${given}::jsonb)
          AS g (namespace text[], key text, value jsonb, ttl double precision, removed boolean)
      ), removed AS (
        DELETE FROM slipway_agent.store_items i USING given g
        WHERE g.removed AND i.deployment_id = ${this.deploymentId} AND i.namespace = g.namespace AND i.key = g.key
      )
      INSERT INTO slipway_agent.store_items (deployment_id, namespace, key, value, ttl_minutes, expires_at)
      SELECT ${this.deploymentId}, namespace, key, value, ttl, now() + ttl * interval '1 minute'
      FROM given WHERE NOT removed ORDER BY namespace, key
      ON CONFLICT (deployment_id, namespace, key) DO UPDATE
      SET value = EXCLUDED.value, updated_at = now(), ttl_minutes = EXCLUDED.ttl_minutes,
        expires_at = EXCLUDED.expires_at,
        created_at = CASE WHEN store_items.expires_at <= now() THEN now() ELSE store_items.created_at END`.execute(
      this.db,
    );
  }

  /** The matching items below a prefix, newest first. */
  async search(query: z.output<typeof STORE_ENDPOINTS.searchItems.request>): Promise<StoredItem[]> {
    const { filter, limit, offset } = query;
    const prefix = query.namespace_prefix ?? [];
    const last = prefix.at(-1);
    // Only namespaces that begin with these labels are in this range: no text sorts between a text and the same text
    // with U+0001.
    const prefixCondition =
      last === undefined
        ? sql`true`
        : sql`namespace >= ${prefix}::text[] AND namespace < ${[...prefix.slice(0, -1), `${last}\u0001`]}::text[]`;
    const { rows } = await sql<Row>`
      SELECT ${COLUMNS} FROM slipway_agent.store_items
      WHERE deployment_id = ${this.deploymentId} AND ${NOT_EXPIRED} AND ${prefixCondition} AND ${matching(filter ?? {})}
      ORDER BY updated_at DESC, namespace, key LIMIT ${limit} OFFSET ${offset}`.execute(this.db);
    if (query.refresh_ttl ?? true) await this.#refresh(rows);
    return rows;
  }

  /** The namespaces with items, cut at `maxDepth`, in order. `*` in a condition matches any label. */
  async namespaces(query: ListNamespacesOperation): Promise<string[][]> {
    const matchConditions = (query.matchConditions ?? []).map(({ matchType, path: labels }) => {
      const offset = matchType === 'prefix' ? sql`0` : sql`cardinality(namespace) - ${labels.length}::int`;
      const labelConditions = labels.flatMap((label, index) =>
        label === '*' ? [] : [sql<boolean>`namespace[${offset} + ${index + 1}::int] = ${label}`],
      );
      return sql<boolean>`${sql.join([sql`cardinality(namespace) >= ${labels.length}::int`, ...labelConditions], sql` AND `)}`;
    });
    const { rows } = await sql<{ namespace: string[] }>`
      SELECT DISTINCT ${query.maxDepth === undefined ? sql`namespace` : sql`namespace[1:${query.maxDepth}::int]`}
        AS namespace
      FROM slipway_agent.store_items
      WHERE ${sql.join([sql`deployment_id = ${this.deploymentId}`, NOT_EXPIRED, ...matchConditions], sql` AND `)}
      ORDER BY 1 LIMIT ${query.limit} OFFSET ${query.offset}`.execute(this.db);
    return rows.map(({ namespace }) => namespace);
  }

  async dropExpired(): Promise<void> {
    await sql`
      DELETE FROM slipway_agent.store_items
      WHERE deployment_id = ${this.deploymentId} AND expires_at <= now()`.execute(this.db);
  }

  async #refresh(rows: readonly Row[]): Promise<void> {
    const bounded = rows.filter((row) => row.ttl_minutes !== null);
    if (bounded.length === 0) return;
    const given = JSON.stringify(bounded.map(({ namespace, key }) => ({ namespace, key })));
    await sql`
      UPDATE slipway_agent.store_items i SET expires_at = now() + i.ttl_minutes * interval '1 minute'
      FROM jsonb_to_recordset(${given}::jsonb) AS g (namespace text[], key text)
      WHERE i.deployment_id = ${this.deploymentId} AND i.namespace = g.namespace AND i.key = g.key`.execute(
      this.db,
    );
  }
}

const COLUMNS = sql`namespace, key, value, created_at, updated_at, ttl_minutes`;

/** An expired item counts as absent even before it is dropped. */
const NOT_EXPIRED = sql<boolean>`(expires_at IS NULL OR expires_at > now())`;

/** The SQL condition that the fields of `value` match a filter (contract: `ItemFilter`). */
function matching(filter: Record<string, unknown>): RawBuilder<boolean> {
  const conditions = Object.entries(filter).flatMap(([field, wanted]) =>
    isOperators(wanted)
      ? Object.entries(wanted).map(([operator, operand]) =>
          CONDITIONS[operator as FilterOperator](sql`value -> ${field}::text`, operand),
        )
      : [CONDITIONS.$eq(sql`value -> ${field}::text`, wanted)],
  );
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` AND `)})`;
}

type Condition = (field: RawBuilder<unknown>, operand: unknown) => RawBuilder<boolean>;

const CONDITIONS: Record<FilterOperator, Condition> = {
  $eq: (field, operand) => sql<boolean>`${field} = ${json(operand)}`,
  $ne: (field, operand) => sql<boolean>`${field} IS DISTINCT FROM ${json(operand)}`,
  $gt: ordered('>'),
  $gte: ordered('>='),
  $lt: ordered('<'),
  $lte: ordered('<='),
  $in: (field, operand) => sql<boolean>`${field} IN (SELECT jsonb_array_elements(${json(operand)}))`,
  $nin: (field, operand) =>
    sql<boolean>`(${field} IN (SELECT jsonb_array_elements(${json(operand)}))) IS NOT TRUE`,
};

/** Numbers compare with numbers, and texts with texts; a value of another type matches nothing. */
function ordered(operator: string): Condition {
  const compare = sql.raw(operator);
  return (field, operand) =>
    sql<boolean>`(jsonb_typeof(${field}) = jsonb_typeof(${json(operand)}) AND ${field} ${compare} ${json(operand)})`;
}

function json(operand: unknown): RawBuilder<unknown> {
  return sql`${JSON.stringify(operand ?? null)}::jsonb`;
}

/** The same rule as in LangGraph's own stores, except that an empty object has no operators: it is a value to compare. */
function isOperators(wanted: unknown): wanted is Record<string, unknown> {
  if (!isRecord(wanted)) return false;
  const names = Object.keys(wanted);
  return names.length > 0 && names.every((name) => (FILTER_OPERATORS as readonly string[]).includes(name));
}
