import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import { createClientAddress, type IncomingConnection } from '@slipway/contract/clientAddress';
import { Uuid } from '@slipway/contract/scalars';
import type { Context, MiddlewareHandler } from 'hono';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';

import { HttpProblem } from '../http/problem.ts';
import type { Schema } from '../store/schema.ts';
import { createApiKeys, hashOfKey } from './apiKeys.ts';
import { type Caller, DEFAULT_TENANT_ID, OPERATOR, type Origin, setCaller } from './caller.ts';
import { KeyCache, type StoredApiKey } from './keyCache.ts';
import { createTokenBuckets, type RateLimit } from './tokenBuckets.ts';

export interface Credentials extends Origin {
  readonly apiKey: string | undefined;
  /** `Authorization`; a `Bearer` token is an API key. */
  readonly authorization: string | undefined;
  readonly tenantId: string | undefined;
}

export type Access = ReturnType<typeof createAccess>;

/** Makes an {@link Access}; `operatorKey` is the platform's own key, valid for every tenant. */
export function createAccess({
  operatorKey,
  kysely,
  log,
  rateLimit,
  trustedProxies = [],
}: {
  operatorKey: string;
  kysely: Kysely<Schema>;
  log: Logger;
  /** Per key. Default: none. */
  rateLimit?: RateLimit;
  /** Addresses and networks whose `X-Forwarded-For` is trusted. Default: none. */
  trustedProxies?: readonly string[];
}) {
  const keyCache = new KeyCache(kysely, log);
  const operator = Buffer.from(hashOfKey(operatorKey), 'hex');
  const countFailure = createTokenBuckets(INVALID_KEY_LIMIT);
  const clientAddress = createClientAddress(trustedProxies);
  const countRequest = rateLimit === undefined ? undefined : createTokenBuckets(rateLimit);

  const find = async (keyHash: string): Promise<StoredApiKey> => {
    const found = await keyCache.find(keyHash);
    if (found === undefined) throw new HttpProblem(403, 'The API key is not valid.');
    if (found.revoked_at !== null) throw new HttpProblem(403, 'The API key has been revoked.');
    if (found.expires_at !== null && found.expires_at.getTime() <= Date.now()) {
      throw new HttpProblem(403, 'The API key has expired.');
    }
    return found;
  };

  return {
    /**
     * Authenticates the caller (contract 000, "Authentication"). `X-Api-Key` overrides a bearer token. `X-Tenant-Id`
     * selects one of the key's tenants; the default is its first.
     *
     * Decision: a missing key is 401; an invalid key, or a tenant outside the key's, is 403. The key is checked
     * before the rate of failures, so a stranger behind the same proxy cannot lock out a valid key.
     * @throws HttpProblem 401, 403; 422 for a tenant id that is no uuid; 429 after too many invalid keys.
     */
    authenticate: async (credentials: Credentials): Promise<Caller> => {
      const key = keyOf(credentials);
      const requestedTenantId = requestedTenant(credentials);
      const from = { address: credentials.address, userAgent: credentials.userAgent };
      const keyHash = hashOfKey(key);
      // Digests have equal length, which the constant-time comparison requires.
      if (timingSafeEqual(Buffer.from(keyHash, 'hex'), operator)) {
        const tenantId = requestedTenantId ?? DEFAULT_TENANT_ID;
        return { tenantId, keyId: OPERATOR, keyName: OPERATOR, scope: 'admin', from };
      }
      const found = await find(keyHash).catch((error: unknown) => {
        // Requests from inside the process have no address, and are not counted.
        if (error instanceof HttpProblem && from.address !== null) {
          const wait = countFailure(from.address);
          if (wait > 0) throw tooManyRequests('This address sent too many invalid API keys.', wait);
        }
        throw error;
      });
      const tenantId = found.tenant_ids.find(
        (id) => requestedTenantId === undefined || id === requestedTenantId,
      );
      if (tenantId === undefined) throw new HttpProblem(403, 'The API key is not for this tenant.');
      keyCache.used(found);
      return { tenantId, keyId: found.id, keyName: found.name, scope: found.scope, from };
    },
    /** The client's address (`createClientAddress`); null for a request from inside the process. */
    addressOf: (request: IncomingConnection | undefined): string | null =>
      (request === undefined ? undefined : clientAddress(request)) ?? null,
    /** Counts a request of the control plane. @throws HttpProblem 429 if the key has sent too many. */
    limit: (caller: Caller): void => {
      const wait = countRequest?.(caller.keyId) ?? 0;
      if (wait > 0) throw tooManyRequests(`The key '${caller.keyName}' has sent too many requests.`, wait);
    },
    kysely,
    keys: createApiKeys({ kysely, changed: (hash) => keyCache.forget(hash) }),
  };
}

function keyOf({ apiKey, authorization }: Credentials): string {
  if (apiKey !== undefined && apiKey !== '') return apiKey;
  const bearer = /^bearer +(?<token>\S+) *$/iu.exec(authorization ?? '')?.groups?.['token'];
  if (bearer !== undefined) return bearer;
  throw new HttpProblem(401, 'An API key is required in the header X-Api-Key, or as a bearer token.');
}

function requestedTenant({ tenantId }: Credentials): string | undefined {
  if (tenantId === undefined || tenantId === '') return undefined;
  const parsed = Uuid.safeParse(tenantId);
  if (parsed.success) return parsed.data;
  throw new HttpProblem(422, [
    { loc: ['header', 'x-tenant-id'], msg: 'Input should be a uuid', type: 'uuid_parsing' },
  ]);
}

/** Middleware that authenticates requests and limits their rate; `callerOf` returns the caller. */
export function requireCaller(access: Access): MiddlewareHandler {
  return async (c, next) => {
    const caller = await access.authenticate(credentialsOf(c, access));
    access.limit(caller);
    setCaller(c, caller);
    await next();
  };
}

export function credentialsOf(c: Context, access: Pick<Access, 'addressOf'>): Credentials {
  return {
    apiKey: c.req.header('x-api-key'),
    authorization: c.req.header('authorization'),
    tenantId: c.req.header('x-tenant-id'),
    ...originOf(c, access),
  };
}

export function originOf(c: Context, access: Pick<Access, 'addressOf'>): Origin {
  const env = c.env as { incoming?: IncomingMessage } | undefined;
  return { address: access.addressOf(env?.incoming), userAgent: c.req.header('user-agent') ?? null };
}

/** The rate limit of invalid keys per address: ten at once, then one every six seconds. */
const INVALID_KEY_LIMIT: RateLimit = { perSecond: 1 / 6, burst: 10 };

function tooManyRequests(detail: string, waitMs: number): HttpProblem {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new HttpProblem(429, `${detail} Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  });
}
