import type { Context } from 'hono';

import type { Scope } from '@slipway/contract/controlPlane/access';

/** The tenant of a platform's own key, and of everything that was made before there were others. */
export const DEFAULT_TENANT_ID = '51195ba7-0000-4000-8000-000000000001';

/** What stands in the place of a key's id for the platform's own key. */
export const OPERATOR = 'operator';

/** Who sent a request. Everything that a request can see or change belongs to the tenant. */
export interface Caller {
  readonly tenantId: string;
  /** The id of the API key; {@link OPERATOR} for the platform's own key; `platform` where no request is behind it. */
  readonly keyId: string;
  /** The name that the key was given. */
  readonly keyName: string;
  /** Includes the scopes below it. */
  readonly scope: Scope;
  readonly from: Origin;
}

/** Where a request came from, as far as that is known. */
export interface Origin {
  readonly address: string | null;
  readonly userAgent: string | null;
}

const RANK: Readonly<Record<Scope, number>> = { read: 0, deploy: 1, admin: 2 };

/** Whether the caller's key has a scope, or one that includes it. */
export function permits(caller: Caller, scope: Scope): boolean {
  return RANK[caller.scope] >= RANK[scope];
}

/** Whether it is the platform's own key that calls: it is for every tenant. */
export function isOperator(caller: Caller): boolean {
  return caller.keyId === OPERATOR;
}

/** The caller of what the platform does for a tenant by itself, such as building what was pushed; `why` names it. */
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

/** Puts the caller into a request's context. */
export function setCaller(c: Context, caller: Caller): void {
  c.set(KEY, caller);
}

/** The caller of a request; a route that no `requireCaller` stands before fails. */
export function callerOf(c: Context): Caller {
  const caller = c.get(KEY) as Caller | undefined;
  if (caller === undefined) throw new Error('A route was reached without asking who calls it.');
  return caller;
}
