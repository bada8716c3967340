import { type Kysely, sql } from 'kysely';

import type { AuditEntry, AuditQuery } from '@slipway/contract/controlPlane/access';
import type { Schema } from '../store/schema.ts';
import type { Caller } from './caller.ts';

/** What is recorded of a change beside who made it. */
export interface Change {
  readonly operation: string;
  /** The ids of what was changed, by name: `{ deployment_id: … }`. */
  readonly resources: Readonly<Record<string, string>>;
  /** The names of the fields that the request set, never their values. */
  readonly changed: readonly string[];
}

/** How a change that was asked for ended. */
export interface ChangeOutcome {
  readonly outcome: 'done' | 'refused' | 'failed';
  /** What was answered, where that is known. */
  readonly status: number | null;
}

/** A change that a request asks for, as far as it is known before it is carried out. */
interface PendingChange extends Change {
  recorded: boolean;
}

const pending = new WeakMap<Caller, PendingChange>();

/** Announces the change that a caller's request is about to make. */
export function announceChange(caller: Caller, change: Change): void {
  pending.set(caller, { ...change, recorded: false });
}

/**
 * Records in a change's own transaction that it was made: both are there, or neither. `resources` adds ids that only
 * came into being with it. A caller that announced nothing (the platform itself) gives the operation.
 */
export async function recordAudit(
  trx: Kysely<Schema>,
  caller: Caller,
  resources: Readonly<Record<string, string>>,
  operation?: string,
): Promise<void> {
  const announced = pending.get(caller) ?? {
    operation: operation ?? caller.keyName,
    resources: {},
    changed: [],
  };
  await insert(
    trx,
    caller,
    { ...announced, resources: { ...announced.resources, ...resources } },
    { outcome: 'done', status: null },
  );
  const known = pending.get(caller);
  if (known !== undefined) known.recorded = true;
}

/** Records how an announced change ended, unless its own transaction did. */
export async function recordOutcome(
  kysely: Kysely<Schema>,
  caller: Caller,
  outcome: ChangeOutcome,
): Promise<void> {
  const announced = pending.get(caller);
  if (announced === undefined || (announced.recorded && outcome.outcome === 'done')) return;
  await insert(kysely, caller, announced, outcome);
}

/** What was recorded for the caller's tenant, newest first. */
export async function readAudit(
  kysely: Kysely<Schema>,
  caller: Caller,
  query: AuditQuery,
): Promise<{ resources: AuditEntry[]; offset: number }> {
  let select = kysely
    .selectFrom('audit_entries')
    .selectAll()
    .where('tenant_id', '=', caller.tenantId)
    .orderBy('id', 'desc')
    .limit(query.limit)
    .offset(query.offset);
  if (query.operation !== undefined) select = select.where('operation', '=', query.operation);
  if (query.key_id !== undefined) select = select.where('key_id', '=', query.key_id);
  if (query.outcome !== undefined) select = select.where('outcome', '=', query.outcome);
  if (query.since !== undefined) select = select.where('at', '>=', new Date(query.since));
  if (query.until !== undefined) select = select.where('at', '<', new Date(query.until));
  if (query.resource_id !== undefined) {
    select = select.where(
      sql<boolean>`exists (select 1 from jsonb_each_text(resources) as r where r.value = ${query.resource_id})`,
    );
  }
  const rows = await select.execute();
  const resources = rows.map((row) => ({ ...row, at: row.at.toISOString() }));
  return { resources, offset: query.offset + rows.length };
}

/** Removes what was recorded more than so many milliseconds ago. */
export async function removeOldAudit(kysely: Kysely<Schema>, keptMs: number): Promise<void> {
  await kysely
    .deleteFrom('audit_entries')
    .where('at', '<', new Date(Date.now() - keptMs))
    .execute();
}

async function insert(
  db: Kysely<Schema>,
  caller: Caller,
  { operation, resources, changed }: Change,
  { outcome, status }: ChangeOutcome,
): Promise<void> {
  await db
    .insertInto('audit_entries')
    .values({
      at: new Date(),
      tenant_id: caller.tenantId,
      key_id: caller.keyId,
      key_name: caller.keyName,
      operation,
      resources: JSON.stringify(resources),
      changed: JSON.stringify(changed),
      outcome,
      status,
      address: caller.from.address,
      user_agent: caller.from.userAgent?.slice(0, USER_AGENT_MAX).replaceAll('\0', '') ?? null,
    })
    .execute();
}

const USER_AGENT_MAX = 256;
