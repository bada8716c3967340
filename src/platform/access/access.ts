import { createHash, timingSafeEqual } from 'node:crypto';

import { type Kysely } from 'kysely';
import { type Logger } from 'pino';

import { Uuid } from '../../contract/scalars.ts';
import { HttpProblem } from '../http/problem.ts';
import { type Schema } from '../store/schema.ts';
import { type ApiKeys, createApiKeys, hashOfKey } from './apiKeys.ts';
import { type Caller, DEFAULT_TENANT_ID, OPERATOR, type Origin } from './caller.ts';
import { createKeyRing, type StoredApiKey } from './keyRing.ts';

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
   * for, is 403.
   * @throws HttpProblem 401, 403; 422 for a tenant id that is no uuid.
   */
  authenticate(credentials: Credentials): Promise<Caller>;
  readonly keys: ApiKeys;
}

/** Makes an {@link Access}; `operatorKey` is the platform's own key. */
export function createAccess({
  operatorKey,
  kysely,
  log,
}: {
  operatorKey: string;
  kysely: Kysely<Schema>;
  log: Logger;
}): Access {
  const ring = createKeyRing(kysely, log);
  const operator = digest(operatorKey);

  const find = async (key: string): Promise<StoredApiKey> => {
    const found = await ring.find(hashOfKey(key));
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
      // Digests have one length, which is what the comparison in constant time asks for.
      if (timingSafeEqual(digest(key), operator)) {
        const tenantId = wanted ?? DEFAULT_TENANT_ID;
        return { tenantId, keyId: OPERATOR, keyName: OPERATOR, scope: 'admin', from };
      }
      const found = await find(key);
      const tenantId = found.tenant_ids.find((id) => wanted === undefined || id === wanted);
      if (tenantId === undefined) throw new HttpProblem(403, 'The API key is not for this tenant.');
      ring.used(found);
      return { tenantId, keyId: found.id, keyName: found.name, scope: found.scope, from };
    },
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

function digest(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}
