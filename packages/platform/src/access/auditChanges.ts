import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';

import { HttpProblem } from '../http/problem.ts';
import type { Schema } from '../store/schema.ts';
import { announceChange, recordOutcome } from './audit.ts';
import { callerOf } from './caller.ts';
import type { Operation } from './endpointScopes.ts';
import { operationOf } from './requireScope.ts';

/** Endpoints that are asked by POST and change nothing. */
const READS_BY_POST: ReadonlySet<Operation> = new Set([
  'getBuildLogs',
  'getDeployLogs',
  'getProjectDeployLogs',
]);

/**
 * Middleware that records every change that was asked for: who, from where, which fields of what, and how it ended.
 * Where the change has a transaction of its own, it is recorded there (`recordAudit`); here follows what was refused or
 * failed, and changes without one. A change is not taken back because it could not be recorded: the log then says so.
 */
export function auditChanges(kysely: Kysely<Schema>, log: Logger): MiddlewareHandler {
  return async (c, next) => {
    const operation = c.req.method === 'GET' ? undefined : operationOf(c);
    if (operation === undefined || READS_BY_POST.has(operation)) {
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

/** The ids in a request's path, by the names that its route has for them. */
function idsIn(c: Context): Record<string, string> {
  const route = matchedRoutes(c).findLast(({ method }) => method !== 'ALL');
  const names = route?.path.split('/') ?? [];
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
  let body: unknown;
  try {
    body = JSON.parse(await c.req.text());
  } catch (error) {
    // The route answers what is wrong with it.
    if (!(error instanceof SyntaxError)) throw error;
  }
  const fields = namesIn(body).flatMap(([name, value]) => {
    const inner = namesIn(value);
    return inner.length === 0 ? [name] : inner.map(([each]) => `${name}.${each}`);
  });
  return fields.slice(0, FIELDS_MAX);
}

/** Only names that look like our fields: whatever else is sent as a name may be anything. */
function namesIn(value: unknown): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).filter(([name]) => /^[a-z_]{1,64}$/u.test(name));
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu;
const FIELDS_MAX = 100;
