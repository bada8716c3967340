import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { IDEMPOTENCY_KEPT_MS } from '../../src/controlPlane/idempotency.ts';
import { type AnswerBody, createBody, TestPlatform } from './testPlatform.ts';

const platform = TestPlatform.use();

const request = (more: Record<string, unknown> = {}): Record<string, unknown> =>
  createBody({ secrets: [{ name: 'TOKEN', value: 'hunter2-hunter2' }], ...more });

interface Created {
  readonly status: number;
  readonly json: AnswerBody;
  readonly replayed: string | null;
}

async function create(
  key: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Created> {
  const response = await platform.app.request('/v2/deployments', {
    method: 'POST',
    headers: { 'x-api-key': 'test-key', 'idempotency-key': key, ...headers },
    body: JSON.stringify(body),
  });
  const json = (await response.json()) as AnswerBody;
  return { status: response.status, json, replayed: response.headers.get('idempotent-replayed') };
}

async function countOf(name: unknown): Promise<number> {
  const { json } = await platform.call('GET', `/v2/deployments?name_contains=${String(name)}`);
  return json.resources.length;
}

describe('the same request under the same key', () => {
  it('gets the same answer, and creates nothing again', async () => {
    const body = request();
    const key = randomUUID();
    const first = await create(key, body);
    expect([first.status, first.replayed]).toEqual([201, null]);
    await platform.patch(first.json.id, { secrets: [] });
    const again = await create(key, body);
    expect(again).toEqual({ status: 201, json: first.json, replayed: 'true' });
    expect(await countOf(body['name'])).toBe(1);
  });

  it('creates one deployment if two are sent at the same time', async () => {
    const body = request();
    const key = randomUUID();
    const both = await Promise.all([create(key, body), create(key, body)]);
    expect(both.map(({ status }) => status)).toEqual([201, 201]);
    expect(both.map(({ replayed }) => replayed).sort()).toEqual([null, 'true'].sort());
    expect(both[0].json).toEqual(both[1].json);
    expect(await countOf(body['name'])).toBe(1);
  });

  it('is recognized after a restart, in another order of fields, and with the key in quotes', async () => {
    const body = request();
    const { json } = await create('it is "this" one', body);
    await platform.start();
    const reordered = Object.fromEntries(Object.entries(body).reverse());
    const again = await create(String.raw`"it is \"this\" one"`, { ...reordered, unknown: 1 });
    expect([again.status, again.json.id, again.replayed]).toEqual([201, json.id, 'true']);
  });

  it('is recognized after a rotation of the master key and a restart', async () => {
    const body = request();
    const key = randomUUID();
    const { json } = await create(key, body);
    await platform.rotateAndRestart();
    expect(await create(key, body)).toEqual({ status: 201, json, replayed: 'true' });
  });

  it('is recognized after the deployment is gone, and creates no second one', async () => {
    const body = request();
    const key = randomUUID();
    const { json } = await create(key, body);
    await platform.call('DELETE', `/v2/deployments/${json.id}`);
    expect((await create(key, body)).json.id).toBe(json.id);
  });

  it('counts only for its tenant', async () => {
    const body = request();
    const key = randomUUID();
    const { json } = await create(key, body);
    const other = await create(key, body, { 'x-tenant-id': randomUUID() });
    expect([other.status, other.replayed]).toEqual([201, null]);
    expect(other.json.id).not.toBe(json.id);
  });

  it('is forgotten after a day', async () => {
    const body = request();
    const key = randomUUID();
    await create(key, body);
    await platform.kysely
      .updateTable('idempotency_keys')
      .set({ created_at: new Date(Date.now() - IDEMPOTENCY_KEPT_MS - 1_000) })
      .where('key', '=', key)
      .execute();
    expect((await create(key, body)).status).toBe(409);
    expect((await create(key, request())).status).toBe(201);
  });
});

describe('a key', () => {
  it('reused with another request is rejected with 422, and nothing is created', async () => {
    const key = randomUUID();
    await create(key, request());
    const other = request();
    const { status, json } = await create(key, other);
    expect(status).toBe(422);
    expect(json.detail).toEqual([
      { loc: ['header', 'idempotency-key'], msg: expect.any(String), type: 'idempotency_key_reused' },
    ]);
    expect(await countOf(other['name'])).toBe(0);
  });

  it('distinguishes secrets, and stores none', async () => {
    const body = request();
    const key = randomUUID();
    await create(key, body);
    const other = await create(key, { ...body, secrets: [{ name: 'TOKEN', value: 'another' }] });
    expect(other.status).toBe(422);
    const rows = await platform.kysely.selectFrom('idempotency_keys').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain('hunter2');
  });

  it('stays usable after a rejected request', async () => {
    const taken = await platform.create('taken by another');
    const key = randomUUID();
    expect((await create(key, request({ name: 'taken by another' }))).status).toBe(409);
    expect((await create(key, { name: 'wrong' })).status).toBe(422);
    const { status, json } = await create(key, request());
    expect(status).toBe(201);
    expect(json.id).not.toBe(taken);
  });

  it.each([
    ['of 255 characters', 'k'.repeat(255), 201],
    ['of 256 characters', 'k'.repeat(256), 422],
    ['that is empty', '', 422],
    ['of empty quotes', '""', 422],
    ['beyond ASCII', 'schlüssel', 422],
  ])('%s', async (_, key, expected) => {
    const { status, json } = await create(key, request());
    expect(status).toBe(expected);
    if (expected === 422) expect(json.detail).toMatchObject([{ loc: ['header', 'idempotency-key'] }]);
  });
});
