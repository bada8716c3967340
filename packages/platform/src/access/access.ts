import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

import { Uuid } from '@slipway/contract/scalars';
import type { Context, MiddlewareHandler } from 'hono';
import type { Kysely, Selectable } from 'kysely';
import type { Logger } from 'pino';

import { HttpProblem } from '../http/problem.ts';
import type { ApiKeysTable, Schema } from '../store/schema.ts';
import { createApiKeys, hashOfKey } from './apiKeys.ts';
import { type Caller, DEFAULT_TENANT_ID, OPERATOR, type Origin, setCaller } from './caller.ts';
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

/** Identifies the caller. */
export type Access = ReturnType<typeof createAccess>;

/** Makes an {@link Access}; `operatorKey` is the platform's own key, which is for every tenant. */
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
}) {
  const ring = createKeyRing(kysely, log);
  const operator = Buffer.from(hashOfKey(operatorKey), 'hex');
  const countFailure = createTokenBuckets(FAILURES);
  const clientAddress = createClientAddress(trustedProxies);
  const countRequest = rateLimit === undefined ? undefined : createTokenBuckets(rateLimit);

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
    /**
     * The caller that the credentials prove (contract 000, "Authentication"). `X-Api-Key` goes before a bearer token;
     * `X-Tenant-Id` chooses among the tenants that the key is for, else it is the key's first.
     *
     * Decision: no key is 401; a key that is not valid, and a tenant that the key is not for, is 403. The key is looked
     * at first: a stranger behind the same proxy locks no right key out.
     * @throws HttpProblem 401, 403; 422 for a tenant id that is no uuid; 429 after too many keys that were not valid.
     */
    authenticate: async (credentials: Credentials): Promise<Caller> => {
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
        // Requests made inside the process have no address, and are not counted.
        if (error instanceof HttpProblem && from.address !== null) {
          const wait = countFailure(from.address);
          if (wait > 0) throw tooMany('This address sent too many invalid API keys.', wait);
        }
        throw error;
      });
      const tenantId = found.tenant_ids.find((id) => wanted === undefined || id === wanted);
      if (tenantId === undefined) throw new HttpProblem(403, 'The API key is not for this tenant.');
      ring.used(found);
      return { tenantId, keyId: found.id, keyName: found.name, scope: found.scope, from };
    },
    /** The address of a request's client (`createClientAddress`); null for a request made inside the process. */
    addressOf: (request: Arrival | undefined): string | null =>
      (request === undefined ? undefined : clientAddress(request)) ?? null,
    /** Counts a request of the control plane. @throws HttpProblem 429 if the key has sent too many. */
    limit: (caller: Caller): void => {
      const wait = countRequest?.(caller.keyId) ?? 0;
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

/** Middleware that lets only requests through that prove who sent them, and not too many; `callerOf` identifies the caller. */
export function requireCaller(access: Access): MiddlewareHandler {
  return async (c, next) => {
    const caller = await access.authenticate({
      apiKey: c.req.header('x-api-key'),
      authorization: c.req.header('authorization'),
      tenantId: c.req.header('x-tenant-id'),
      ...originOf(c, access),
    });
    access.limit(caller);
    setCaller(c, caller);
    await next();
  };
}

/** Where a request comes from. */
export function originOf(c: Context, access: Pick<Access, 'addressOf'>): Origin {
  const env = c.env as { incoming?: IncomingMessage } | undefined;
  return {
    address: access.addressOf(env?.incoming),
    userAgent: c.req.header('user-agent') ?? null,
  };
}

/** Invalid keys of one address: ten at once, then one every six seconds. */
const FAILURES: RateLimit = { perSecond: 1 / 6, burst: 10 };

/** A 429 that says when to come back. */
function tooMany(detail: string, waitMs: number): HttpProblem {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new HttpProblem(429, `${detail} Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  });
}

/** An API key as it was stored. */
type StoredApiKey = Selectable<ApiKeysTable>;

/** How long a key is believed to be as it was read, in milliseconds. Changes made here are seen at once. */
const BELIEVED_MS = 30_000;
const MOST_KEYS = 10_000;
const WRITE_USE_EVERY_MS = 60_000;

/** Looks keys up by their hashes, without asking the database each time, and notes when they were used. */
function createKeyRing(kysely: Kysely<Schema>, log: Logger) {
  const known = new Map<string, { key: StoredApiKey; until: number }>();
  const written = new Map<string, number>();
  let changes = 0;
  return {
    /** The key of that hash, revoked and expired ones too; undefined if there is none. */
    find: async (keyHash: string): Promise<StoredApiKey | undefined> => {
      const remembered = known.get(keyHash);
      if (remembered !== undefined && Date.now() < remembered.until) return remembered.key;
      known.delete(keyHash);
      const before = changes;
      const key = await kysely
        .selectFrom('api_keys')
        .selectAll()
        .where('key_hash', '=', keyHash)
        .executeTakeFirst();
      // What was read while a key changed may be what it was: it is not remembered.
      if (key === undefined || changes !== before) return key;
      if (known.size >= MOST_KEYS) known.clear();
      known.set(keyHash, { key, until: Date.now() + BELIEVED_MS });
      return key;
    },

    /** Notes that a key was used; written at most once a minute. */
    used: (key: StoredApiKey): void => {
      const at = Date.now();
      if (at < (written.get(key.id) ?? 0) + WRITE_USE_EVERY_MS) return;
      if (written.size >= MOST_KEYS) written.clear();
      written.set(key.id, at);
      kysely
        .updateTable('api_keys')
        .set({ last_used_at: new Date(at) })
        .where('id', '=', key.id)
        .execute()
        .catch((error: unknown) => log.warn({ err: error, key: key.id }, 'the use of a key was not noted'));
    },

    /** Forgets what is known of a key: it changed. */
    forget: (keyHash: string): void => {
      changes += 1;
      known.delete(keyHash);
    },
  };
}

/** A request as far as it shows where it comes from. */
interface Arrival {
  readonly headers: IncomingMessage['headers'];
  readonly socket: Pick<IncomingMessage['socket'], 'remoteAddress'>;
}

/**
 * Makes what finds the address of a request's client: the other end of the connection, or, if that is a trusted proxy,
 * the last address in `X-Forwarded-For` that is not one. What is before it there, the client may have made up.
 * @param trustedProxies Addresses and networks (`10.0.0.0/8`).
 * @throws RangeError naming an entry that is neither.
 */
export function createClientAddress(
  trustedProxies: readonly string[],
): (request: Arrival) => string | undefined {
  const trusted = networksOf(trustedProxies);
  return ({ headers, socket }) => {
    const forwarded = [headers['x-forwarded-for'] ?? ''].flat().join(',').split(',');
    const path = forwarded.map((entry) => entry.trim()).concat(socket.remoteAddress ?? '');
    let client: string | undefined;
    for (const address of path.reverse()) {
      if (isIP(address) === 0) break;
      client = address;
      // IPv4 addresses in IPv6 notation (`::ffff:10.0.0.1`) count as what they are.
      if (!trusted.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')) break;
    }
    return client;
  };
}

function networksOf(entries: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/');
    const family = isIP(address);
    const most = family === 4 ? 32 : 128;
    const bits = Number(prefix ?? most);
    if (family === 0 || !Number.isInteger(bits) || bits < 0 || bits > most)
      throw new RangeError(`"${entry}" is neither an address nor a network.`);
    networks.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6');
  }
  return networks;
}
