import type { Context } from 'hono';

import type { Scope } from '@slipway/contract/controlPlane/access';

/** The tenant of a platform's own key, and of everything created before there were more tenants. */
export const DEFAULT_TENANT_ID = '51195ba7-0000-4000-8000-000000000001';

/** The key id of the platform's own key. */
export const OPERATOR = 'operator';

/** The sender of a request. A request can see and change only what belongs to the tenant. */
export interface Caller {
  readonly tenantId: string;
  /** The id of the API key; {@link OPERATOR} for the platform's own key; `platform` without a request. */
  readonly keyId: string;
  readonly keyName: string;
  /** Includes the lower scopes. */
  readonly scope: Scope;
  readonly from: Origin;
}

/** The origin of a request, as far as it is known. */
export interface Origin {
  readonly address: string | null;
  readonly userAgent: string | null;
}

const RANK: Readonly<Record<Scope, number>> = { read: 0, deploy: 1, admin: 2 };

/** Whether the caller's key has a scope, or one that includes it. */
export function permits(caller: Caller, scope: Scope): boolean {
  return RANK[caller.scope] >= RANK[scope];
}

/** Whether the caller uses the platform's own key, which is valid for every tenant. */
export function isOperator(caller: Caller): boolean {
  return caller.keyId === OPERATOR;
}

/** The caller of the platform's own actions for a tenant, such as building a push; `why` is its name. */
export function platformCaller(tenantId: string, why: string): Caller {
  return {
    tenantId,
    keyId: 'platform',
    keyName: why,
    scope: 'deploy',
    from: { address: null, userAgent: null },
  };
}

const KEY = 'slipway.caller';

/** Stores the caller in a request's context. */
export function setCaller(c: Context, caller: Caller): void {
  c.set(KEY, caller);
}

/** The caller of a request. Throws on a route without `requireCaller`. */
export function callerOf(c: Context): Caller {
  const caller = c.get(KEY) as Caller | undefined;
  if (caller === undefined) throw new Error('A route was reached without asking who calls it.');
  return caller;
}
