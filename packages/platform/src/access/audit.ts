import type { AuditQuery } from '@slipway/contract/controlPlane/access';
import { CONTROL_PLANE_ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import { isRecord, parsedJson } from '@slipway/contract/json';
import type { Context, MiddlewareHandler } from 'hono';
import { type Kysely, sql } from 'kysely';
import type { Logger } from 'pino';

import { HttpProblem } from '../http/problem.ts';
import type { Schema } from '../store/schema.ts';
import { type Caller, callerOf } from './caller.ts';
import { type Operation, operationOf, routeOf } from './scopes.ts';

interface Change {
  readonly operation: string;
  /** The ids of the changed resources, by name: `{ deployment_id: … }`. */
  readonly resources: Readonly<Record<string, string>>;
  /** The names of the fields that the request set, never their values. */
  readonly changed: readonly string[];
}

interface ChangeOutcome {
  readonly outcome: 'done' | 'refused' | 'failed';
  /** The status of the answer, if known. */
  readonly status: number | null;
}

/** Requested changes that are not recorded yet, by caller. */
const pending = new WeakMap<Caller, Change & { recorded: boolean }>();

/** Announces the change that a caller's request is about to make. */
export function announceChange(caller: Caller, change: Change): void {
  pending.set(caller, { ...change, recorded: false });
}

/**
 * Records a change in its own transaction: both are stored, or neither. `resources` adds ids that the change created.
 * A caller without an announced change (the platform itself) passes the operation.
 */
export async function recordAudit(
  trx: Kysely<Schema>,
  caller: Caller,
  resources: Readonly<Record<string, string>>,
  operation?: string,
): Promise<void> {
  const announced = pending.get(caller);
  const change = announced ?? { operation: operation ?? caller.keyName, resources: {}, changed: [] };
  const all = { ...change, resources: { ...change.resources, ...resources } };
  await insert(trx, caller, all, { outcome: 'done', status: null });
  if (announced !== undefined) announced.recorded = true;
}

/** Records the outcome of an announced change, unless its own transaction has. */
export async function recordOutcome(
  kysely: Kysely<Schema>,
  caller: Caller,
  outcome: ChangeOutcome,
): Promise<void> {
  const announced = pending.get(caller);
  if (announced === undefined || (announced.recorded && outcome.outcome === 'done')) return;
  await insert(kysely, caller, announced, outcome);
}

/** The audit log of the caller's tenant, newest first. */
export async function readAudit(kysely: Kysely<Schema>, caller: Caller, query: AuditQuery) {
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
  const resources = await select.execute();
  return { resources, offset: query.offset + resources.length };
}

/** Removes audit entries that are older than `keptMs` milliseconds. */
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

/** Whether an endpoint changes nothing. Hono also serves a GET endpoint for HEAD. */
function isRead(operation: Operation): boolean {
  return CONTROL_PLANE_ENDPOINTS[operation].method === 'GET' || READS_BY_POST.has(operation);
}

const READS_BY_POST: ReadonlySet<Operation> = new Set([
  'getBuildLogs',
  'getDeployLogs',
  'getProjectDeployLogs',
]);

/**
 * Middleware that records every requested change: the caller, the origin, the fields and the outcome. A change with
 * its own transaction is recorded there (`recordAudit`); here, refused and failed ones and those without a
 * transaction. If recording fails, the change stays, and the failure is logged.
 */
export function auditChanges(kysely: Kysely<Schema>, log: Logger): MiddlewareHandler {
  return async (c, next) => {
    const operation = operationOf(c);
    if (operation === undefined || isRead(operation)) {
      await next();
      return;
    }
    const caller = callerOf(c);
    announceChange(caller, { operation, resources: idsIn(c), changed: await fieldsIn(c) });
    await next();
    const status = c.error instanceof HttpProblem ? c.error.status : c.res.status;
    const outcome = status < 400 ? 'done' : status < 500 ? 'refused' : 'failed';
    try {
      await recordOutcome(kysely, caller, { outcome, status });
    } catch (error) {
      log.error({ err: error, operation, key: caller.keyId }, 'a change could not be recorded');
    }
  };
}

function idsIn(c: Context): Record<string, string> {
  const names = routeOf(c)?.path.split('/') ?? [];
  const values = c.req.path.split('/');
  return Object.fromEntries(
    names.flatMap((name, index) => {
      const value = values[index] ?? '';
      return name.startsWith(':') && ID.test(value) ? [[name.slice(1), value.toLowerCase()]] : [];
    }),
  );
}

/** The names of the fields that a request's body sets, two levels deep: `name`, `source_config.build_command`. */
async function fieldsIn(c: Context): Promise<string[]> {
  // The route reports invalid JSON. It gets the same bytes: of a text it could not tell that they were no UTF-8.
  const text = new TextDecoder().decode(await c.req.arrayBuffer());
  const fields = namesIn(parsedJson(text)).flatMap(([name, value]) => {
    const inner = namesIn(value);
    return inner.length === 0 ? [name] : inner.map(([each]) => `${name}.${each}`);
  });
  return fields.slice(0, FIELDS_MAX);
}

/** Only names that look like our fields, because other names may contain anything, secrets included. */
function namesIn(value: unknown): [string, unknown][] {
  if (!isRecord(value)) return [];
  return Object.entries(value).filter(([name]) => /^[a-z_]{1,64}$/u.test(name));
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu;
const FIELDS_MAX = 100;
