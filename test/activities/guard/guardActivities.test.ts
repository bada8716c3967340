import { afterAll, describe, expect, it, vi } from 'vitest';

import type {
  GuardedInput,
  GuardMetric,
  GuardPolicy,
  MetricSource,
} from '../../../src/domain/guard/guardPolicy.ts';
import { answers, closedPort, type Handler, startSocketService } from '../../clients/faultyService.ts';
import {
  activitiesUnderTest,
  DEPLOYMENT_ID,
  DEPLOYMENT_PATH,
  deploymentAnswer,
  failureOf,
  OTHER_REVISION_ID,
  REVISION_ID,
  revisionAnswer,
  revisionOn,
  type Routes,
  startRoutes,
} from '../activitiesUnderTest.ts';

const TOKEN = 'the-token-of-prometheus';
vi.stubEnv('SLIPWAY_TEST_METRICS_TOKEN', TOKEN);
const REFERENCE = { from: 'env:SLIPWAY_TEST_METRICS_TOKEN' };
const HOUR_MS = 3_600_000;

afterAll(() => void vi.unstubAllEnvs());

/** Prometheus' answer of one series. */
function vector(...values: readonly string[]) {
  const result = values.map((value, index) => ({ metric: { i: String(index) }, value: [1, value] }));
  return { status: 'success', data: { resultType: 'vector', result } };
}

function matrix(...values: readonly string[]) {
  const series = { metric: {}, values: values.map((value, index) => [index, value]) };
  return { status: 'success', data: { resultType: 'matrix', result: values.length === 0 ? [] : [series] } };
}

interface Guarded {
  readonly routes?: Routes;
  readonly source?: (url: string) => MetricSource;
  readonly limits?: Omit<GuardMetric, 'name' | 'source'>;
  readonly policy?: Partial<GuardPolicy>;
  readonly times?: Partial<Pick<GuardedInput, 'since' | 'until' | 'releasedFrom'>>;
  readonly active?: string;
  readonly heartbeatDetails?: unknown;
}

const PROMETHEUS = (url: string): MetricSource => ({
  kind: 'prometheus',
  url: `${url}/prom`,
  query: 'sum(errors)',
  token: REFERENCE,
});

/** One round of a guard. The default guard is in the middle of its time, with one metric of at most 0.05. */
async function round(guarded: Guarded) {
  const { routes = {}, source = PROMETHEUS, limits = { max: 0.05 }, policy, times, active } = guarded;
  const deployment = deploymentAnswer(active === undefined ? {} : { active_revision_id: active });
  const service = await startRoutes({
    [`GET ${DEPLOYMENT_PATH}`]: answers(200, deployment),
    ...routes,
  });
  const now = Date.now();
  const input: GuardedInput = {
    ...revisionOn(service.url),
    recordStore: 'file:///records',
    policy: {
      forMs: HOUR_MS,
      everyMs: 1_000,
      afterMs: 0,
      noData: 'continue',
      metrics: [{ name: 'errors', source: source(service.url), ...limits }],
      ...policy,
    },
    since: now - HOUR_MS / 2,
    until: now + HOUR_MS / 2,
    releasedFrom: now - HOUR_MS,
    ...times,
  };
  const activities = activitiesUnderTest({ heartbeatDetails: guarded.heartbeatDetails });
  const call = activities.guardRevision(input);
  return { call, service, activities, input };
}

/** What a round that goes on says of its measurements. */
async function said(guarded: Guarded): Promise<string> {
  const { call } = await round(guarded);
  const { message, nonRetryable } = await failureOf(call);
  expect(nonRetryable).toBe(false);
  return message;
}

const QUERY = 'POST /prom/api/v1/query';
const RANGE = 'POST /prom/api/v1/query_range';

describe('a round of a guard, of Prometheus', () => {
  it('ends it if the value is worse, and sends the token to that address alone', async () => {
    const { call, service } = await round({ routes: { [QUERY]: answers(200, vector('0.12')) } });
    expect(await call).toMatchObject({
      verdict: 'worse',
      note: 'errors 0.12 > 0.05; measured: errors 0.12',
      breach: { metric: 'errors', kind: 'above_max', value: 0.12, limit: 0.05 },
    });
    const [look, query] = service.requests;
    expect(look?.headers.authorization).toBeUndefined();
    expect(query?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    expect(new URLSearchParams(query?.body).get('query')).toBe('sum(errors)');
  });

  it('goes on if it is not, and reports what it measured', async () => {
    const { call, activities } = await round({ routes: { [QUERY]: answers(200, vector('0.01')) } });
    expect(await failureOf(call)).toMatchObject({ message: 'errors 0.01', nonRetryable: false });
    expect(activities.heartbeats.at(-1)).toMatchObject({
      says: 'errors 0.01',
      known: { measured: { values: [{ metric: 'errors', value: 0.01, before: null }] } },
    });
  });

  it('reports no secret that a service repeats in its error', async () => {
    const repeats = answers(400, { status: 'error', errorType: 'bad_data', error: `no ${TOKEN} here` });
    const { call, activities } = await round({ routes: { [QUERY]: repeats } });
    await failureOf(call);
    const text = JSON.stringify(activities.heartbeats.at(-1));
    expect(text).toContain('"missing":"');
    expect(text).not.toContain(TOKEN);
  });

  it('ends well with its time, and judges the last moment of the guard even if it is late', async () => {
    const until = Date.now() - 60_000;
    const { call, service } = await round({
      routes: {
        [QUERY]: answers(200, { status: 'success', data: { resultType: 'scalar', result: [1, '0'] } }),
      },
      times: { until },
    });
    expect(await call).toMatchObject({ verdict: 'passed', note: 'measured last: errors 0' });
    expect(new URLSearchParams(service.requests.at(-1)?.body).get('time')).toBe((until / 1_000).toFixed(3));
  });

  it.each([
    ['no series', 200, vector(), 'the query has no result'],
    ['two series', 200, vector('1', '2'), 'gives 2 series: aggregate them'],
    ['NaN, as without traffic', 200, vector('NaN'), 'the query gives NaN'],
    ['+Inf', 200, vector('+Inf'), 'the query gives +Inf'],
    [
      'a string',
      200,
      { status: 'success', data: { resultType: 'string', result: [1, 'x'] } },
      'another form',
    ],
    ['an object without a status', 200, { data: [] }, 'another form'],
    [
      'an error of the query',
      400,
      { status: 'error', error: 'parse error at char 3' },
      'parse error at char 3',
    ],
    ['an error of the server', 500, {}, 'answered with 500'],
    ['a refused token', 401, {}, 'answered with 401'],
  ])('has no data, and goes on, at %s', async (_, status, value, why) => {
    expect(await said({ routes: { [QUERY]: answers(status, value) } })).toContain(why);
  });

  it('has no data at a page of HTML, a redirect, a reset, and where nobody listens', async () => {
    const html: Handler = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>sign in</html>');
    };
    expect(await said({ routes: { [QUERY]: html } })).toContain('not JSON');
    const moved: Handler = (_, response) => {
      response.writeHead(302, { location: 'https://elsewhere.example/' }).end();
    };
    expect(await said({ routes: { [QUERY]: moved } })).toContain('302');
    expect(await said({ routes: { [QUERY]: (_, response) => response.destroy() } })).toContain(
      'No complete answer',
    );
    const closed = await closedPort();
    const nobody = (): MetricSource => ({ kind: 'prometheus', url: closed, query: 'up' });
    expect(await said({ source: nobody })).toContain('could not be reached');
  });

  it('has no data where the service does not answer in time', { timeout: 30_000 }, async () => {
    const silent = await startSocketService(() => undefined);
    const source = (): MetricSource => ({ kind: 'prometheus', url: silent.url, query: 'up' });
    expect(await said({ source })).toContain('did not answer');
  });

  it('has no data without its token, or if the worker must not send it there', async () => {
    const source = (url: string): MetricSource => ({
      kind: 'prometheus',
      url,
      query: 'up',
      token: { from: 'env:SLIPWAY_TEST_ABSENT' },
    });
    expect(await said({ source })).toContain('"env:SLIPWAY_TEST_ABSENT" is not set');
  });
});

describe('a round of a guard, compared with the hour before,', () => {
  const limits = { risesBy: { by: 0.5, isRelative: true } };

  it('asks for its mean over a range, once', async () => {
    const routes = {
      [QUERY]: answers(200, vector('0.2')),
      [RANGE]: answers(200, matrix('0.1', 'NaN', '0.3')),
    };
    const { call, service, activities, input } = await round({ routes, limits });
    expect((await failureOf(call)).message).toBe('errors 0.2 (0.2 in the hour before)');
    const asked = new URLSearchParams(service.requests.find(({ url }) => url.endsWith('range'))?.body);
    expect(asked.get('end')).toBe((input.releasedFrom / 1_000).toFixed(3));
    expect(Number(asked.get('end')) - Number(asked.get('start'))).toBe(3_600);
    const next = await round({
      routes: { ...routes, [QUERY]: answers(200, vector('0.4')) },
      limits,
      heartbeatDetails: activities.heartbeats.at(-1),
    });
    expect(await next.call).toMatchObject({ breach: { kind: 'rose', value: 0.4, before: 0.2 } });
    expect(next.service.requests.map(({ url }) => url)).not.toContain('/prom/api/v1/query_range');
  });

  it('judges nothing that the hour before does not have, and asks again if there was no answer', async () => {
    const now = { [QUERY]: answers(200, vector('99')) };
    const empty = await round({ routes: { ...now, [RANGE]: answers(200, matrix()) }, limits });
    expect((await failureOf(empty.call)).message).toBe('errors 99');
    expect(empty.activities.heartbeats.at(-1)).toMatchObject({ known: { before: { errors: null } } });
    const failed = await round({ routes: { ...now, [RANGE]: answers(503, {}) }, limits });
    await failureOf(failed.call);
    expect(failed.activities.heartbeats.at(-1)).toMatchObject({ known: { before: {} } });
  });
});

describe('a round of a guard, of an HTTP endpoint', () => {
  const at =
    (path: string, query = '') =>
    (url: string): MetricSource => ({ kind: 'http', url: `${url}/metric${query}`, path, token: REFERENCE });

  it('reads the number at a path, in the window of the guard', async () => {
    const { call, service, input } = await round({
      source: at('data.0.errors', '?from={from}&until={until}'),
      routes: { 'GET /metric': answers(200, { data: [{ errors: 0.5 }] }) },
    });
    expect(await call).toMatchObject({ verdict: 'worse', breach: { value: 0.5 } });
    const asked = new URL(service.requests.at(-1)?.url ?? '', service.url).searchParams;
    expect(Date.parse(asked.get('from') ?? '')).toBe(input.since);
    expect(service.requests.at(-1)?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  it.each([
    [{}, 'the answer has no "value"'],
    [{ value: null }, 'the answer has no "value"'],
    [{ value: '0.12' }, '"value" is no number'],
    [[1], 'of another form'],
  ])('has no data in %j', async (value, why) => {
    expect(await said({ source: at('value'), routes: { 'GET /metric': answers(200, value) } })).toContain(
      why,
    );
  });
});

describe('a round of a guard, of the scores in a tracing project', () => {
  const SESSION = '44444444-4444-4444-8444-444444444444';
  const source =
    (atLeast: number) =>
    (url: string): MetricSource => ({
      kind: 'feedback',
      url,
      apiKey: { from: 'env:SLIPWAY_TEST_API_KEY' },
      project: 'greeter',
      key: 'helpful',
      atLeast,
    });
  const score = (
    value: unknown,
    created_at = new Date(Date.now() - 1_000).toISOString(),
    key = 'helpful',
  ) => ({
    key,
    score: value,
    created_at,
  });
  const routesOf = (feedback: readonly unknown[]): Routes => ({
    'GET /api/v1/sessions': answers(200, [{ id: SESSION, name: 'greeter' }]),
    'GET /api/v1/feedback': answers(200, feedback),
  });

  it('takes the mean of those of its key and its window', async () => {
    const feedback = [
      ...[score(1), score(false), score(null), score(0)],
      score(1, '2001-01-01T00:00:00Z'),
      score(1, undefined, 'other'),
    ];
    const { call, service } = await round({
      source: source(3),
      routes: routesOf(feedback),
      limits: { min: 0.5 },
    });
    expect(await call).toMatchObject({ breach: { kind: 'below_min', value: 1 / 3 } });
    const asked = new URL(service.requests.at(-1)?.url ?? '', service.url).searchParams;
    expect(asked.get('session')).toBe(SESSION);
    expect(asked.get('key')).toBe('helpful');
  });

  it('has no data yet with too few of them, or without the project', async () => {
    const few = { source: source(10), routes: routesOf([score(0)]), limits: { min: 0.5 } };
    expect(await said(few)).toBe('errors has no data: 1 of 10 scores');
    const none = { ...few, routes: { 'GET /api/v1/sessions': answers(200, []) } };
    expect(await said(none)).toContain('there is no tracing project "greeter"');
  });
});

/** The route of a revision with its upload's path; `undefined`: there is none. */
function revision(id: string, path: string | null | undefined): Routes {
  const source = { source_tarball_path: path };
  const answer = { ...revisionAnswer('DEPLOYED'), id, source_revision_config: source };
  return {
    [`GET ${DEPLOYMENT_PATH}/revisions/${id}`]: path === undefined ? answers(404, {}) : answers(200, answer),
  };
}

describe('a round of a guard', () => {
  it.each([
    ['of another upload', 'uploads/other', 'uploads/guarded'],
    ['of an image', null, null],
    ['after the guarded one was deleted', 'uploads/other', undefined],
  ])('ends if another revision serves, %s, before it measures', async (_, other, guarded) => {
    const routes = { ...revision(OTHER_REVISION_ID, other), ...revision(REVISION_ID, guarded) };
    const { call, service } = await round({ active: OTHER_REVISION_ID, routes });
    expect(await call).toMatchObject({ verdict: 'replaced' });
    expect(service.requests.map(({ method }) => method)).not.toContain('POST');
  });

  it('goes on if another tool has redeployed its revision: both carry one upload', async () => {
    const path = 'uploads/guarded';
    const copied = { ...revision(OTHER_REVISION_ID, path), ...revision(REVISION_ID, path) };
    const routes = { ...copied, [QUERY]: answers(200, vector('0.01')) };
    expect(await said({ active: OTHER_REVISION_ID, routes })).toBe('errors 0.01');
  });

  it.each([
    [503, {}],
    [404, { detail: 'no such path' }],
  ])('goes on while the control plane is away, and a proxy answers %i %j', async (status, answer) => {
    const routes = {
      [`GET ${DEPLOYMENT_PATH}`]: answers(status, answer),
      [QUERY]: answers(200, vector('0.01')),
    };
    expect(await said({ routes })).toBe('errors 0.01');
  });

  it('ends if the deployment is deleted', async () => {
    const gone = answers(404, { detail: `There is no deployment ${DEPLOYMENT_ID}` });
    const { call } = await round({ routes: { [`GET ${DEPLOYMENT_PATH}`]: gone } });
    expect(await call).toMatchObject({ verdict: 'replaced' });
  });

  it('waits until the first measurement is due', async () => {
    const { call, service } = await round({ policy: { afterMs: HOUR_MS * 0.75 } });
    const { nextRetryDelay } = await failureOf(call);
    expect(Number(nextRetryDelay)).toBeGreaterThan(HOUR_MS / 5);
    expect(service.requests).toEqual([]);
  });
});
