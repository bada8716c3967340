import { randomUUID } from 'node:crypto';

import { beforeAll, describe, expect, it, vi } from 'vitest';

import type { ApiKeyCreate } from '@slipway/contract/controlPlane/access';
import { type Access, createAccess, type Credentials } from '../../src/access/access.ts';
import { type Caller, DEFAULT_TENANT_ID } from '../../src/access/caller.ts';
import { createLogger } from '../../src/http/logger.ts';
import { useTestDatabase } from '../testDatabase.ts';

const ALICE = randomUUID();
const BOB = randomUUID();

const database = useTestDatabase();
let access: Access;
let operator: Caller;

beforeAll(async () => {
  access = createAccess({
    operatorKey: 'the-key',
    kysely: database.kysely,
    log: createLogger({ destination: { write: () => undefined } }),
  });
  operator = await caller({ apiKey: 'the-key' });
});

function caller(credentials: Partial<Credentials>): Promise<Caller> {
  return access.authenticate({
    apiKey: undefined,
    authorization: undefined,
    tenantId: undefined,
    address: null,
    userAgent: null,
    ...credentials,
  });
}

const statusOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => (error as { status: number }).status,
  );

const make = (request: Partial<ApiKeyCreate>, by = operator) =>
  access.keys.create(by, { name: 'ci', scope: 'deploy', ...request });

describe('a caller', () => {
  it('sends a key in X-Api-Key or as a bearer token; X-Api-Key takes precedence', async () => {
    for (const credentials of [
      { apiKey: 'the-key' },
      { authorization: 'Bearer the-key' },
      { authorization: 'bearer  the-key' },
      { apiKey: 'the-key', authorization: 'Bearer something for the agent' },
    ]) {
      expect(await caller(credentials)).toMatchObject({
        keyId: 'operator',
        scope: 'admin',
        tenantId: DEFAULT_TENANT_ID,
      });
    }
  });

  it('without a key is rejected with 401, with a wrong one with 403', async () => {
    expect(await statusOf(caller({}))).toBe(401);
    expect(await statusOf(caller({ apiKey: '' }))).toBe(401);
    expect(await statusOf(caller({ authorization: 'Basic dGhlOmtleQ==' }))).toBe(401);
    expect(await statusOf(caller({ apiKey: 'the-ke' }))).toBe(403);
    expect(await statusOf(caller({ apiKey: 'wrong', authorization: 'Bearer the-key' }))).toBe(403);
    expect(await statusOf(caller({ authorization: 'Bearer wrong' }))).toBe(403);
  });

  it('with the platform’s own key chooses the tenant', async () => {
    const { tenantId } = await caller({ apiKey: 'the-key', tenantId: ALICE.toUpperCase() });
    expect(tenantId).toBe(ALICE);
    expect(await statusOf(caller({ apiKey: 'the-key', tenantId: 'acme' }))).toBe(422);
  });
});

describe('invalid keys', () => {
  const from = (remoteAddress: string, forwardedFor?: string) => ({
    headers: forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor },
    socket: { remoteAddress },
  });

  it('are rejected with 429 after many from one address, while valid keys still work', async () => {
    const { key } = await make({});
    const { key: later } = await make({});
    const address = '192.0.2.7';
    expect(await caller({ apiKey: key, address })).toBeDefined();
    const statuses = [];
    for (let i = 0; i < 12; i++) statuses.push(await statusOf(caller({ apiKey: `made up ${i}`, address })));
    expect(statuses).toEqual([...Array<number>(10).fill(403), 429, 429]);
    for (const apiKey of [key, later, 'the-key']) expect(await caller({ apiKey, address })).toBeDefined();
    expect(await statusOf(caller({ apiKey: 'made up', address: '192.0.2.8' }))).toBe(403);
  });

  it('count for the client address that a trusted proxy reports', () => {
    const trusting = createAccess({
      operatorKey: 'the-key',
      kysely: database.kysely,
      log: createLogger({ destination: { write: () => undefined } }),
      trustedProxies: ['10.0.0.0/8', '::1'],
    });
    expect(trusting.addressOf(from('10.1.2.3', '203.0.113.9'))).toBe('203.0.113.9');
    expect(trusting.addressOf(from('::ffff:10.1.2.3', 'made up, 203.0.113.9, 10.9.9.9'))).toBe('203.0.113.9');
    expect(trusting.addressOf(from('::1', '10.0.0.1, 10.0.0.2'))).toBe('10.0.0.1');
    expect(trusting.addressOf(from('10.1.2.3', 'no address'))).toBe('10.1.2.3');
    expect(trusting.addressOf(from('10.1.2.3'))).toBe('10.1.2.3');
    expect(trusting.addressOf(from('192.0.2.1', '203.0.113.9'))).toBe('192.0.2.1');
    expect(access.addressOf(from('10.1.2.3', '203.0.113.9'))).toBe('10.1.2.3');
    expect(access.addressOf(undefined)).toBeNull();
  });
});

describe('an API key', () => {
  it('is shown once, and stored only as a digest', async () => {
    const { key, ...answered } = await make({ name: 'release job' });
    expect(key).toMatch(/^slipway_[\w-]{43}$/);
    expect(key.startsWith(answered.prefix)).toBe(true);
    expect(answered).toMatchObject({ name: 'release job', scope: 'deploy', created_by: 'operator' });
    const { resources } = await access.keys.list(operator, { limit: 100, offset: 0, revoked: true });
    expect(resources).toContainEqual(answered);
    const rows = await database.kysely.selectFrom('api_keys').selectAll().execute();
    expect(JSON.stringify([rows, resources])).not.toContain(key);
    expect(await statusOf(caller({ apiKey: rows[0]?.key_hash ?? '' }))).toBe(403);
  });

  it('identifies its holder, with role and tenant', async () => {
    const { key, id } = await make({ scope: 'read', name: 'dashboard', tenant_ids: [ALICE] });
    expect(await caller({ apiKey: key, address: '192.0.2.1', userAgent: 'curl' })).toEqual({
      tenantId: ALICE,
      keyId: id,
      keyName: 'dashboard',
      scope: 'read',
      from: { address: '192.0.2.1', userAgent: 'curl' },
    });
    expect(await caller({ authorization: `Bearer ${key}` })).toMatchObject({ keyId: id });
  });

  it('for several tenants selects the one in X-Tenant-Id, else the first', async () => {
    const { key } = await make({ tenant_ids: [ALICE, BOB] });
    expect((await caller({ apiKey: key })).tenantId).toBe(ALICE);
    expect((await caller({ apiKey: key, tenantId: BOB })).tenantId).toBe(BOB);
    expect(await statusOf(caller({ apiKey: key, tenantId: randomUUID() }))).toBe(403);
  });

  it('is rejected after it expires, and immediately after it is revoked', async () => {
    const soon = await make({ expires_at: new Date(Date.now() + 3_600_000).toISOString() });
    expect(await caller({ apiKey: soon.key })).toBeDefined();
    vi.useFakeTimers({ now: Date.now() + 3_600_001, toFake: ['Date'] });
    expect(await statusOf(caller({ apiKey: soon.key }))).toBe(403);
    vi.useRealTimers();

    const { key, id } = await make({});
    expect(await caller({ apiKey: key })).toBeDefined();
    await access.keys.revoke(operator, id);
    await access.keys.revoke(operator, id);
    expect(await statusOf(caller({ apiKey: key }))).toBe(403);
    const list = (revoked: boolean) => access.keys.list(operator, { limit: 100, offset: 0, revoked });
    expect((await list(false)).resources.map((each) => each.id)).not.toContain(id);
    expect((await list(true)).resources.map((each) => each.id)).toContain(id);
    expect(await statusOf(access.keys.revoke(operator, randomUUID()))).toBe(404);
  });

  it('shows when it was last used', async () => {
    const { key, id } = await make({});
    await caller({ apiKey: key });
    await vi.waitFor(async () => {
      const { resources } = await access.keys.list(operator, { limit: 100, offset: 0, revoked: false });
      expect(resources.find((each) => each.id === id)?.last_used_at).not.toBeNull();
    }, 10_000);
  });

  it('of a tenant’s admin sees and revokes only keys of that tenant', async () => {
    const alice = await caller({ apiKey: (await make({ scope: 'admin', tenant_ids: [ALICE] })).key });
    expect(await statusOf(make({ tenant_ids: [BOB] }, alice))).toBe(403);
    expect(await statusOf(make({ tenant_ids: [ALICE, BOB] }, alice))).toBe(403);
    const own = await make({}, alice);
    expect(own.tenant_ids).toEqual([ALICE]);

    const both = await make({ tenant_ids: [BOB, ALICE] });
    const others = await make({ tenant_ids: [BOB] });
    const { resources } = await access.keys.list(alice, { limit: 100, offset: 0, revoked: false });
    expect(resources.find((each) => each.id === both.id)?.tenant_ids).toEqual([ALICE]);
    expect(resources.map((each) => each.id)).not.toContain(others.id);

    expect(await statusOf(access.keys.revoke(alice, others.id))).toBe(404);
    await access.keys.revoke(alice, both.id);
    expect(await statusOf(caller({ apiKey: both.key, tenantId: ALICE }))).toBe(403);
    expect((await caller({ apiKey: both.key })).tenantId).toBe(BOB);
  });
});
