import { timingSafeEqual } from 'node:crypto';

import type { Kysely } from 'kysely';
import type { Logger } from 'pino';

import { Uuid } from '@slipway/contract/scalars';
import { HttpProblem } from '../http/problem.ts';
import type { Schema } from '../store/schema.ts';
import { type ApiKeys, createApiKeys, hashOfKey } from './apiKeys.ts';
import { type Caller, DEFAULT_TENANT_ID, OPERATOR, type Origin } from './caller.ts';
import { type Arrival, createClientAddress } from './clientAddress.ts';
import { createFailedAttempts, tooMany } from './failedAttempts.ts';
import { createKeyRing, type StoredApiKey } from './keyRing.ts';
import { createTokenBuckets, type RateLimit } from './tokenBuckets.ts';

/** What a request shows of who sent it, and where it came from. */
export interface Credentials extends Origin {
  /** `X-Api-Key`. */
  readonly apiKey: string | undefined;
  /** `Authorization`; a `Bearer` token is an API key. */
  readonly authorization: string | undefined;
  /** `X-Tenant-Id`. */
  readonly tenantId: string | undefined;
}

/** Tells who calls. */
export interface Access {
  /**
   * The caller that the credentials prove (contract 000, "Authentication": an API key in `X-Api-Key`, or as a bearer
   * token; the header and the format are the public relative's). `X-Api-Key` goes before a bearer token, `X-Tenant-Id`
   * chooses among the tenants that the key is for; without it, it is the key's first. The platform's own key is for
   * every tenant, the default one first.
   *
   * Decision: no key is 401; a key that is not valid (unknown, expired, revoked), and a tenant that the key is not
   * for, is 403. The key is looked at first: a stranger behind the same proxy locks no right key out.
   * @throws HttpProblem 401, 403; 422 for a tenant id that is no uuid; 429 after too many keys that were not valid.
   */
  authenticate(credentials: Credentials): Promise<Caller>;
  /** The address of a request's client (`createClientAddress`); null for a request made inside the process. */
  addressOf(request: Arrival | undefined): string | null;
  /**
   * Counts a request of the control plane.
   * @throws HttpProblem 429 where the key has sent too many.
   */
  limit(caller: Caller): void;
  readonly keys: ApiKeys;
  /** Where all of it is kept. */
  readonly kysely: Kysely<Schema>;
}

/** Makes an {@link Access}; `operatorKey` is the platform's own key. */
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
  /** Of each key. Default: none. */
  rateLimit?: RateLimit;
  /** Addresses and networks whose `X-Forwarded-For` is believed. Default: none. */
  trustedProxies?: readonly string[];
}): Access {
  const ring = createKeyRing(kysely, log);
  const operator = Buffer.from(hashOfKey(operatorKey), 'hex');
  const countFailure = createFailedAttempts();
  const clientAddress = createClientAddress(trustedProxies);
  const requests = rateLimit === undefined ? undefined : createTokenBuckets(rateLimit);

  const find = async (keyHash: string): Promise<StoredApiKey> => {
    const found = await ring.find(keyHash);
    if (found === undefined) throw new HttpProblem(403, 'The API key is not valid.');
    if (found.revoked_at !== null) throw new HttpProblem(403, 'The API key has been revoked.');
    if (found.expires_at !== null && found.expires_at.getTime() <= Date.now()) {
      throw new HttpProblem(403, 'The API key has expired.');
    }
    return found;
  };

  return {
    authenticate: async (credentials) => {
      const key = keyOf(credentials);
      const wanted = wantedTenant(credentials);
      const from = { address: credentials.address, userAgent: credentials.userAgent };
      const keyHash = hashOfKey(key);
      // Digests have one length, which is what the comparison in constant time asks for.
      if (timingSafeEqual(Buffer.from(keyHash, 'hex'), operator)) {
        const tenantId = wanted ?? DEFAULT_TENANT_ID;
        return { tenantId, keyId: OPERATOR, keyName: OPERATOR, scope: 'admin', from };
      }
      const found = await find(keyHash).catch((error: unknown) => {
        if (error instanceof HttpProblem) countFailure(from.address);
        throw error;
      });
      const tenantId = found.tenant_ids.find((id) => wanted === undefined || id === wanted);
      if (tenantId === undefined) throw new HttpProblem(403, 'The API key is not for this tenant.');
      ring.used(found);
      return { tenantId, keyId: found.id, keyName: found.name, scope: found.scope, from };
    },
    addressOf: (request) => (request === undefined ? undefined : clientAddress(request)) ?? null,
    limit: (caller) => {
      const wait = requests?.take(caller.keyId) ?? 0;
      if (wait > 0) throw tooMany(`The key '${caller.keyName}' has sent too many requests.`, wait);
    },
    kysely,
    keys: createApiKeys({ kysely, changed: (hash) => ring.forget(hash) }),
  };
}

function keyOf({ apiKey, authorization }: Credentials): string {
  if (apiKey !== undefined && apiKey !== '') return apiKey;
  const bearer = /^bearer +(?<token>\S+) *$/iu.exec(authorization ?? '')?.groups?.['token'];
  if (bearer !== undefined) return bearer;
  throw new HttpProblem(401, 'An API key is required in the header X-Api-Key, or as a bearer token.');
}

function wantedTenant({ tenantId }: Credentials): string | undefined {
  if (tenantId === undefined || tenantId === '') return undefined;
  const parsed = Uuid.safeParse(tenantId);
  if (parsed.success) return parsed.data;
  throw new HttpProblem(422, [
    { loc: ['header', 'x-tenant-id'], msg: 'Input should be a uuid', type: 'uuid_parsing' },
  ]);
}
