import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { CONTROL_PLANE_ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import type { Endpoint } from '@slipway/contract/endpoint';
import { CONTROL_PLANE } from '../../openapi/documented.ts';
import { TestPlatform } from '../testPlatform.ts';
import { forbiddenInCreate, forbiddenInPatch } from './contractRules.ts';
import { checkPush, pushes } from './pushes.ts';
import { type FuzzedRequest, requestsTo } from './requests.ts';
import { Stock } from './stock.ts';
import { checkUpload, type Send, uploads } from './uploads.ts';

/** How many requests each endpoint gets in `npm run test:fuzz`. Otherwise one batch, or its share of batches. */
const RUNS = Number(process.env['SLIPWAY_FUZZ_RUNS'] || Number.NaN);
const IS_LONG = Number.isFinite(RUNS);
/** The long run generates other requests each time. To repeat one: `SLIPWAY_FUZZ_SEED=<seed>`, as printed. */
const SEED = Number(process.env['SLIPWAY_FUZZ_SEED'] || (IS_LONG ? Math.trunc(Math.random() * 2 ** 30) : 1));
/** Requests from one seed. The next batch uses the next seed. */
const BATCH = IS_LONG ? 100 : 10;
/** No request takes longer, even on a busy machine. */
const HANGS_MS = 30_000;
const CLEAN_EVERY = 100;
const NOBODY = '00000000-0000-4000-8000-000000000000';
/** How many batches the short form sends to the endpoints with the most fields. */
const SHARES: Readonly<Record<string, number>> = {
  createDeployment: 6,
  patchDeployment: 6,
  putUpload: 3,
  receivePush: 3,
};

const ENDPOINTS: [string, Endpoint][] = Object.entries(CONTROL_PLANE_ENDPOINTS);

const platform = TestPlatform.use({ gitPollMs: 0 });
let stock: Stock;
/** How often each endpoint answered with which status. */
const answered = new Map<string, Map<number, number>>();

beforeAll(async () => {
  // Builds are off from here on: this tests only which requests are accepted.
  stock = await Stock.fill(platform, { buildSlots: 0, vocabulary: 'contract', gitPollMs: 0 });
});

afterAll(() => {
  process.stdout.write(`fuzz: seed ${SEED}, ${sent()} requests\n`);
  if (!IS_LONG) return;
  for (const [name, statuses] of answered) process.stdout.write(`${name} ${JSON.stringify([...statuses])}\n`);
});

function count(name: string, status: number): void {
  const statuses = answered.get(name) ?? new Map<number, number>();
  answered.set(name, statuses.set(status, (statuses.get(status) ?? 0) + 1));
}

/** How many requests an endpoint, or all of them, got; `isCounted` selects by status. */
function sent(name?: string, isCounted: (status: number) => boolean = () => true): number {
  const statuses = name === undefined ? [...answered.values()] : [answered.get(name) ?? []];
  return statuses
    .flatMap((each) => [...each])
    .reduce((sum, [status, times]) => (isCounted(status) ? sum + times : sum), 0);
}

async function send(request: FuzzedRequest): Promise<Response> {
  return sendBare({ ...request, headers: { ...request.headers, 'x-api-key': 'test-key' } });
}

/** Sends a request unchanged, without a key. */
async function sendBare(
  request: Omit<FuzzedRequest, 'body'> & { body: NonNullable<RequestInit['body']> | undefined },
): Promise<Response> {
  const { body, ...rest } = request;
  let timer: NodeJS.Timeout | undefined;
  const hangs = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${request.method} ${request.path} hangs`)), HANGS_MS);
  });
  const answer = platform.app.request(request.path, {
    ...rest,
    ...(body === undefined ? {} : { body, duplex: 'half' }),
  });
  try {
    return await Promise.race([answer, hangs]);
  } finally {
    clearTimeout(timer);
  }
}

/** Expects that an error has one of the contract's shapes, and that its places are in the request. */
function expectContractError(method: string, status: number, text: string, body: unknown): void {
  const { detail } = JSON.parse(text) as { detail: unknown };
  if (status !== 422) {
    expect(detail).toBeTypeOf('string');
    return;
  }
  expect(detail).toBeInstanceOf(Array);
  expect(detail).not.toHaveLength(0);
  for (const issue of detail as { loc: (string | number)[]; msg: unknown; type: unknown }[]) {
    expect(issue.msg).toBeTypeOf('string');
    expect(issue.type).toBeTypeOf('string');
    const [from, ...path] = issue.loc;
    expect(['body', 'query', 'path', 'header']).toContain(from);
    if (from !== 'body') continue;
    const place = `${issue.loc.join('.')} in ${JSON.stringify(body)}`;
    expect(leadsSomewhere(body, path, method === 'PATCH'), place).toBe(true);
  }
}

/**
 * Whether a place is in the body, or is a missing field of an object. In a PATCH the object may be missing too,
 * because rules for several fields combine the sent fields with the stored ones.
 */
function leadsSomewhere(body: unknown, path: readonly (string | number)[], isPatch: boolean): boolean {
  let current = body;
  for (const [index, part] of path.entries()) {
    if (isPatch && index > 0 && current == null) return true;
    if (typeof current !== 'object' || current === null) return false;
    if (!Object.hasOwn(current, part)) return isPatch || index === path.length - 1;
    current = (current as Record<string | number, unknown>)[part];
  }
  return true;
}

/** What the contract forbids in an accepted body. */
async function forbidden(
  name: string,
  request: FuzzedRequest,
  body: unknown,
  before: unknown,
): Promise<string[]> {
  if (name === 'createDeployment') return forbiddenInCreate(body);
  if (name !== 'patchDeployment') return [];
  const id = /deployments\/([^?/]+)/u.exec(request.path)?.[1] ?? '';
  const uploads = await platform.kysely
    .selectFrom('uploads')
    .select('object_path')
    .where('deployment_id', '=', id)
    .where('uploaded_at', 'is not', null)
    .execute();
  const paths = new Set(uploads.map(({ object_path }) => object_path));
  return forbiddenInPatch(body, before as Record<string, unknown>, (path) => paths.has(path));
}

/** The deployment of a PATCH, before the PATCH. */
async function readBefore(name: string, { path, headers }: FuzzedRequest): Promise<unknown> {
  if (name !== 'patchDeployment') return undefined;
  const response = await send({ method: 'GET', path: path.split('?')[0] ?? '', headers, body: undefined });
  return response.json();
}

async function check(name: string, asked: FuzzedRequest): Promise<void> {
  await stock.replenish(name);
  const request = { ...asked, path: stock.resolve(name, asked.path) };
  const before = await readBefore(name, request);
  const response = await send(request);
  const type = response.headers.get('content-type') ?? '';
  const text = await response.text();
  count(name, response.status);
  expect(response.status, text).toBeLessThan(500);
  const body = parsed(request.body);
  if (response.status >= 400) expectContractError(request.method, response.status, text, body);
  else {
    stock.used(name, request.path);
    expect(await forbidden(name, request, body, before), JSON.stringify(body)).toEqual([]);
  }
  CONTROL_PLANE.expectAnswer(request.method, request.path, { status: response.status, type, text });
  if (sent() % CLEAN_EVERY === 0) await clean();
}

function parsed(body: string | undefined): unknown {
  try {
    return JSON.parse(body ?? '') as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Removes accepted objects, so that later requests meet no more of them than the first. */
async function clean(): Promise<void> {
  const { kysely } = platform;
  const { deployments, revisions, listeners, integrations, keys } = stock.kept;
  await kysely.deleteFrom('tracing_projects').where('deployment_id', 'not in', deployments).execute();
  await kysely.deleteFrom('deployments').where('id', 'not in', deployments).execute();
  await kysely.deleteFrom('listeners').where('id', 'not in', listeners).execute();
  await kysely.deleteFrom('integrations').where('id', 'not in', integrations).execute();
  await kysely
    .deleteFrom('api_keys')
    .where('id', 'not in', keys.length === 0 ? [NOBODY] : keys)
    .execute();
  await kysely.deleteFrom('audit_entries').execute();
  await kysely.deleteFrom('uploads').where('uploaded_at', 'is', null).execute();
  await kysely
    .deleteFrom('revisions')
    .where('status', '=', 'SKIPPED')
    .where('id', 'not in', revisions)
    .execute();
}

/** Checks a property as often as its endpoint's share. */
async function assertEnough<Ts>(name: string, property: fc.IAsyncProperty<Ts>): Promise<void> {
  const enough = IS_LONG ? RUNS : BATCH * (SHARES[name] ?? 1);
  let seed = SEED;
  do {
    await fc.assert(property, { seed, numRuns: BATCH });
    seed += 1;
  } while (sent(name) < enough);
}

describe('generated requests get no 5xx, always an answer, and accept nothing that the contract forbids:', () => {
  // In the long run up to 1 s per request; a rotation of secrets takes the longest. A test that timed out would
  // continue beside the next one, and delete its objects.
  const timeout = (IS_LONG ? RUNS : 0) * 1_000 + 600_000;

  it.each(ENDPOINTS)('%s', { timeout }, async (name, endpoint) => {
    const asked = requestsTo(name, endpoint, stock.known);
    await assertEnough(
      name,
      fc.asyncProperty(asked, (request) => check(name, request)),
    );
  });

  /** These take no key, because the request contains the permission. Every answer still has the document's shape. */
  const sendTo =
    (name: string): Send =>
    async (request, read) => {
      const response = await sendBare(request);
      const text = await response.text();
      count(name, response.status);
      expect(response.status, text).toBeLessThan(500);
      if (response.status >= 400) expectContractError(request.method, response.status, text, read);
      const type = response.headers.get('content-type') ?? '';
      CONTROL_PLANE.expectAnswer(request.method, request.path, { status: response.status, type, text });
      return { status: response.status, text };
    };

  it('putUpload', { timeout }, async () => {
    const check = async (upload: Parameters<typeof checkUpload>[2]): Promise<void> =>
      checkUpload(platform, stock.withUploads, upload, sendTo('putUpload'));
    await assertEnough('putUpload', fc.asyncProperty(uploads, check));
  });

  it('receivePush', { timeout }, async () => {
    const check = async (push: Parameters<typeof checkPush>[2]): Promise<void> =>
      checkPush(platform, stock.followed, push, sendTo('receivePush'));
    await assertEnough('receivePush', fc.asyncProperty(pushes, check));
  });

  it('and enough of them are accepted to exercise every endpoint in the long run', () => {
    const isIn = (status: number): boolean => status < 400;
    expect(sent(undefined, isIn)).toBeGreaterThan(sent() / 5);
    if (IS_LONG) expect([...answered.keys()].filter((name) => sent(name, isIn) === 0)).toEqual([]);
  });
});
