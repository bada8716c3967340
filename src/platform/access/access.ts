import { createHash, timingSafeEqual } from 'node:crypto';

import { Uuid } from '../../contract/scalars.ts';
import { HttpProblem } from '../http/problem.ts';
import { type Caller, DEFAULT_TENANT_ID, type Origin } from './caller.ts';

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
   * chooses among the tenants that the key is for. The platform's own key is for every tenant; without the header it
   * is the default one's.
   *
   * Decision: no key is 401; a key that is not valid, and a tenant that the key is not for, is 403.
   * @throws HttpProblem 401, 403; 422 for a tenant id that is no uuid.
   */
  authenticate(credentials: Credentials): Promise<Caller>;
}

/** Makes an {@link Access}; `operatorKey` is the platform's own key. */
export function createAccess({ operatorKey }: { operatorKey: string }): Access {
  const operator = digest(operatorKey);
  const callerOf = (credentials: Credentials): Caller => {
    // Digests have one length, which is what the comparison in constant time asks for.
    if (!timingSafeEqual(digest(keyOf(credentials)), operator)) {
      throw new HttpProblem(403, 'The API key is not valid.');
    }
    return {
      tenantId: tenantOf(credentials) ?? DEFAULT_TENANT_ID,
      keyId: 'operator',
      keyName: 'operator',
      scope: 'admin',
      from: { address: credentials.address, userAgent: credentials.userAgent },
    };
  };
  return { authenticate: (credentials) => new Promise((resolve) => resolve(callerOf(credentials))) };
}

function keyOf({ apiKey, authorization }: Credentials): string {
  if (apiKey !== undefined && apiKey !== '') return apiKey;
  const bearer = /^bearer +(?<token>\S+) *$/iu.exec(authorization ?? '')?.groups?.['token'];
  if (bearer !== undefined) return bearer;
  throw new HttpProblem(401, 'An API key is required in the header X-Api-Key, or as a bearer token.');
}

function tenantOf({ tenantId }: Credentials): string | undefined {
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
