import { randomUUID } from 'node:crypto';

import { Hono } from 'hono';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';

import { requireApiKey } from '../../src/agentServer/http/access.ts';
import { respondWithProblem, unservedHandler } from '../../src/http/problem.ts';
import { feedbackRoutes, projectRoutes } from '../../src/tracing/feedbackRoutes.ts';
import {
  createTracingProject,
  openTracing,
  removeExpiredLinks,
  type TracingStore,
} from '../../src/tracing/tracingStore.ts';
import { useTestDatabase } from '../testDatabase.ts';

const TRACING = 'http://tracing.test/';
const KEY = 'the key';
const DEPLOYMENT = 'the deployment';

const database = useTestDatabase();
let tracing: TracingStore;
let app: Hono;

beforeAll(async () => {
  [tracing] = await Promise.all([openTracing(database.kysely), openTracing(database.kysely)]);
  app = new Hono();
  app.onError((error, c) => respondWithProblem(error, c));
  app.notFound(unservedHandler(app));
  app.route(
    '/',
    feedbackRoutes({ tracing, guard: requireApiKey(KEY), readerOf: () => ({ deploymentId: DEPLOYMENT }) }),
  );
});

async function linkTo(options: { runId?: string; expiresInSeconds?: number } = {}) {
  const runId = options.runId ?? randomUUID();
  const links = await tracing.createFeedbackLinks({
    tracingUrl: TRACING,
    keys: ['helpful'],
    deploymentId: DEPLOYMENT,
    ...options,
    runId,
  });
  return { runId, path: links['helpful']!.slice(TRACING.length - 1) };
}

const post = (path: string, body: unknown) =>
  app.request(path, { method: 'POST', body: JSON.stringify(body) });
const recordedOn = async (runId: string) => {
  const response = await app.request(`/api/v1/runs/${runId}/feedback`, { headers: { 'x-api-key': KEY } });
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>[];
};

describe('feedback links', () => {
  it('are one per key, at the address of the contract, each with its own token', async () => {
    const runId = randomUUID();
    const links = await tracing.createFeedbackLinks({ tracingUrl: TRACING, runId, keys: ['a', 'b', 'a'] });
    expect(Object.keys(links)).toEqual(['a', 'b']);
    const form = /^http:\/\/tracing\.test\/api\/v1\/feedback\/tokens\/[0-9a-f]{8}-[0-9a-f-]{27}$/;
    for (const link of Object.values(links)) expect(link).toMatch(form);
    expect(links['a']).not.toBe(links['b']);
    expect(await tracing.createFeedbackLinks({ tracingUrl: TRACING, runId, keys: [] })).toEqual({});
  });

  it('cannot be read from the database', async () => {
    const { path } = await linkTo();
    const token = path.split('/').at(-1)!;
    const { rows } = await sql<{
      row: string;
    }>`select t::text as row from slipway_tracing.feedback_tokens t`.execute(database.kysely);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.map(({ row }) => row).join()).not.toContain(token);
  });

  it('accept every field with POST, without a credential', async () => {
    const { runId, path } = await linkTo();
    const said = {
      score: 0.5,
      value: 'fine',
      comment: 'well',
      correction: { text: 'better' },
      metadata: { by: 'me' },
    };
    const response = await post(path, said);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ recorded: true, key: 'helpful' });
    expect(await recordedOn(runId)).toMatchObject([{ run_id: runId, key: 'helpful', ...said }]);
  });

  it('accept GET, with the correction as encoded JSON', async () => {
    const { runId, path } = await linkTo();
    const query = new URLSearchParams({ score: '-1', value: '3', comment: 'no', correction: '{"text":"x"}' });
    expect((await app.request(`${path}?${query.toString()}`)).status).toBe(200);
    expect(await recordedOn(runId)).toMatchObject([
      { score: -1, value: 3, comment: 'no', correction: { text: 'x' }, metadata: null },
    ]);
  });

  it('record nothing for HEAD, which scanners of links send', async () => {
    const { runId, path } = await linkTo();
    expect((await app.request(`${path}?score=1`, { method: 'HEAD' })).status).toBe(405);
    expect(await recordedOn(runId)).toEqual([]);
  });

  it('record only the click without fields', async () => {
    const { runId, path } = await linkTo();
    expect((await app.request(path, { method: 'POST' })).status).toBe(200);
    expect(await recordedOn(runId)).toMatchObject([{ score: null, value: null, comment: null }]);
  });

  it('count one piece of feedback: a later submission replaces an earlier one', async () => {
    const { runId, path } = await linkTo();
    await post(path, { score: 1, comment: 'good' });
    await post(path, { score: 1, comment: 'good' });
    expect(await recordedOn(runId)).toHaveLength(1);
    await Promise.all([post(path, { score: -1 }), post(path, { score: -1 })]);
    expect(await recordedOn(runId)).toMatchObject([{ score: -1, comment: null }]);
    // A link's preview sends no fields.
    expect((await app.request(path)).status).toBe(200);
    expect(await recordedOn(runId)).toMatchObject([{ score: -1 }]);
  });

  it.each<[string, string, unknown]>([
    ['score', 'POST', { score: 'high' }],
    ['value', 'POST', { value: {} }],
    ['correction', 'POST', { correction: 'text' }],
    ['correction', 'GET', 'correction=text'],
    ['metadata', 'GET', 'metadata=%7B%7D'],
    // As in any other object that is stored.
    ['correction', 'POST', { correction: { text: '\0' } }],
    ['correction', 'GET', `correction=${encodeURIComponent('{"text":"\\u0000"}')}`],
    ['metadata', 'POST', { metadata: { '\ud800': 1 } }],
    ['score', 'GET', 'score=high'],
  ])('reject invalid %s with %s', async (field, method, said) => {
    const { runId, path } = await linkTo();
    const response =
      method === 'POST' ? await post(path, said) : await app.request(`${path}?${said as string}`);
    expect(response.status).toBe(422);
    const { detail } = (await response.json()) as { detail: { loc: string[] }[] };
    expect(detail[0]?.loc).toEqual([method === 'POST' ? 'body' : 'query', field]);
    expect(await recordedOn(runId)).toEqual([]);
  });

  it('do not work if they are unknown or expired', async () => {
    expect((await post(`/api/v1/feedback/tokens/${randomUUID()}`, {})).status).toBe(404);
    const { runId, path } = await linkTo({ expiresInSeconds: -1 });
    expect((await post(path, { score: 1 })).status).toBe(410);
    expect(await recordedOn(runId)).toEqual([]);
  });

  it('are forgotten a month after they expired, unless there is feedback', async () => {
    const month = 30 * 86_400;
    const used = await linkTo();
    await post(used.path, { score: 1 });
    await sql`update slipway_tracing.feedback_tokens set expires_at = now() - interval '1 year'
      where run_id::text = ${used.runId}`.execute(database.kysely);
    const paths = [used, await linkTo(), await linkTo({ expiresInSeconds: 60 - month })].map(
      ({ path }) => path,
    );
    const old = await linkTo({ expiresInSeconds: -60 - month });
    const statuses = () =>
      Promise.all([...paths, old.path].map(async (path) => (await post(path, {})).status));
    expect(await statuses()).toEqual([410, 200, 410, 410]);
    await removeExpiredLinks(database.kysely);
    expect(await statuses()).toEqual([410, 200, 410, 404]);
    expect(await recordedOn(used.runId)).toHaveLength(1);
  });

  it('can be called from any web page', async () => {
    const { path } = await linkTo();
    const preflight = await app.request(path, {
      method: 'OPTIONS',
      headers: { origin: 'https://example.org', 'access-control-request-method': 'POST' },
    });
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
  });
});

describe('recorded feedback', () => {
  it('is readable only by the tenant of its tracing project', async () => {
    const [runId, tenantId, deploymentId] = [randomUUID(), randomUUID(), randomUUID()];
    await createTracingProject(database.kysely, { tenantId, name: 'whose', deploymentId });
    const links = await tracing.createFeedbackLinks({
      tracingUrl: '',
      runId,
      keys: ['helpful'],
      deploymentId,
    });
    await post(links['helpful']!, { score: 1 });
    expect(await tracing.feedbackOf(runId, { tenantId })).toMatchObject([{ key: 'helpful', score: 1 }]);
    expect(await tracing.feedbackOf(runId, { tenantId: randomUUID() })).toEqual([]);
    expect(await tracing.feedbackOf(runId, { deploymentId })).toHaveLength(1);
    expect(await tracing.feedbackOf(runId, { deploymentId: DEPLOYMENT })).toEqual([]);
  });

  it('is readable only with the API key', async () => {
    const path = `/api/v1/runs/${randomUUID()}/feedback`;
    expect((await app.request(path)).status).toBe(401);
    expect((await app.request(path, { headers: { 'x-api-key': 'a key' } })).status).toBe(403);
    expect((await app.request('/api/v1/runs/x/feedback', { headers: { 'x-api-key': KEY } })).status).toBe(
      422,
    );
  });
});

describe('the feedback of tracing projects', () => {
  it('is listed by project, key and time, newest first, and to its tenant alone', async () => {
    const [tenantId, deploymentId] = [randomUUID(), randomUUID()];
    const project = await createTracingProject(database.kysely, { tenantId, name: 'listed', deploymentId });
    for (const score of [1, 0, null]) {
      const links = await tracing.createFeedbackLinks({
        tracingUrl: '',
        runId: randomUUID(),
        keys: ['helpful', 'other'],
        deploymentId,
      });
      await post(links['helpful']!, { score });
      await post(links['other']!, { score: 7 });
    }
    const listed = projectRoutes({
      tracing,
      guard: requireApiKey(KEY),
      tenantOf: (c) => c.req.header('x-tenant-id') ?? '',
    });
    listed.onError((error, c) => respondWithProblem(error, c));
    const read = async (path: string, tenant = tenantId): Promise<unknown> => {
      const headers = { 'x-api-key': KEY, 'x-tenant-id': tenant };
      const response = await listed.request(path, { headers });
      return response.status === 200 ? response.json() : response.status;
    };
    expect(await read('/api/v1/sessions?name=listed')).toMatchObject([{ id: project, name: 'listed' }]);
    expect(await read('/api/v1/sessions?name=other')).toEqual([]);
    expect(await read('/api/v1/sessions', randomUUID())).toEqual([]);
    const all = `/api/v1/feedback?session=${project}&key=helpful`;
    expect(await read(all)).toMatchObject([{ score: null }, { score: 0 }, { score: 1 }]);
    expect(await read(`${all}&has_score=true`)).toMatchObject([{ score: 0 }, { score: 1 }]);
    expect(await read(`${all}&has_score=true&limit=1&offset=1`)).toMatchObject([{ score: 1 }]);
    expect(await read(`${all}&key=other`)).toHaveLength(6);
    expect(await read(`${all}&max_created_at=2001-01-01T00:00:00Z`)).toEqual([]);
    expect(await read(`${all}&min_created_at=2001-01-01T00:00:00Z`)).toHaveLength(3);
    // A year has four digits.
    expect(await read(`${all}&min_created_at=-100000-01-01T00:00:00Z`)).toBe(422);
    expect(await read(`${all}&max_created_at=%2B200000-01-01T00:00:00Z`)).toBe(422);
    expect(await read(`${all}&max_created_at=9999-12-31T23:59:59Z`)).toHaveLength(3);
    expect(await read(`/api/v1/feedback?session=${randomUUID()}`)).toEqual([]);
    expect(await read(all, randomUUID())).toEqual([]);
    expect(await read('/api/v1/feedback?session=x')).toBe(422);
    expect((await listed.request(all)).status).toBe(401);
  });
});

describe('tracing projects', () => {
  it('are created once per tenant and name', async () => {
    const [tenantId, another, deploymentId] = [randomUUID(), randomUUID(), randomUUID()];
    const create = (name: string, of = tenantId) =>
      database.kysely
        .transaction()
        .execute((transaction) => createTracingProject(transaction, { tenantId: of, name, deploymentId }));
    expect(await create('staging')).toMatch(/^[0-9a-f-]{36}$/);
    await expect(create('staging')).rejects.toMatchObject({ code: '23505' });
    expect(await create('production')).toMatch(/^[0-9a-f-]{36}$/);
    expect(await create('staging', another)).toMatch(/^[0-9a-f-]{36}$/);
  });
});
