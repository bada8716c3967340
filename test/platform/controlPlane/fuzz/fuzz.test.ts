import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { CONTROL_PLANE_ENDPOINTS } from '../../../../src/contract/controlPlane/endpoints.ts';
import { type Endpoint } from '../../../../src/contract/endpoint.ts';
import { CONTROL_PLANE } from '../../openapi/documented.ts';
import { TestPlatform } from '../testPlatform.ts';
import { forbiddenInCreate, forbiddenInPatch } from './contractRules.ts';
import { type FuzzedRequest, requestsTo } from './requests.ts';
import { type Known } from './rightBodies.ts';

/** How long requests are made up, shared out among the endpoints. Longer, with counts: `npm run test:fuzz`. */
const SECONDS = Number(process.env['SLIPWAY_FUZZ_SECONDS'] ?? 8);
const LONG = process.env['SLIPWAY_FUZZ_SECONDS'] !== undefined;
/** The long run makes up others each time; the same again: `SLIPWAY_FUZZ_SEED=<seed>`, as it was printed. */
const SEED = Number(process.env['SLIPWAY_FUZZ_SEED'] ?? (LONG ? Math.trunc(Math.random() * 2 ** 30) : 1));
/** Requests that are made from one seed; the next ones are made from the seed that follows. */
const BATCH = 10;
/** No request takes longer, even on a machine that is busy with other things. */
const HANGS_MS = 30_000;
const CLEAN_EVERY = 100;
/** Where most can be said, most is asked. */
const SHARES: Readonly<Record<string, number>> = { createDeployment: 6, patchDeployment: 6 };

const ENDPOINTS: [string, Endpoint][] = Object.entries(CONTROL_PLANE_ENDPOINTS);

let platform: TestPlatform;
let known: Known;
let requests = 0;
const tally = new Map<string, { sent: number; accepted: number }>();

beforeAll(async () => {
  // Nothing is built: what is looked at here is what is let in.
  platform = await TestPlatform.open({ buildSlots: 0, vocabulary: 'contract' });
  const deployments: string[] = [];
  const revisions: string[] = [];
  const sources = ['repo_host', 'external_image', 'internal_image', 'internal_source'];
  for (const source of sources) {
    const buildable = source === 'repo_host' || source === 'internal_source';
    const id = await platform.create(source, {
      source,
      source_revision_config: buildable ? { graph_config_path: 'graph.json' } : {},
    });
    deployments.push(id);
    revisions.push((await platform.deployment(id)).latest_revision_id);
  }
  const objectPaths = [await platform.upload(deployments[3]!), await platform.upload(deployments[3]!)];
  known = { deployments, revisions, objectPaths };
});

afterAll(async () => {
  const counts = [...tally].map(
    ([name, { sent, accepted }]) => `  ${name}: ${sent} sent, ${accepted} accepted\n`,
  );
  process.stdout.write(`fuzz: seed ${SEED}, ${requests} requests\n${LONG ? counts.join('') : ''}`);
  await platform.close();
});

async function send(request: FuzzedRequest): Promise<Response> {
  const { body } = request;
  let timer: NodeJS.Timeout | undefined;
  const hangs = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${request.method} ${request.path} hangs`)), HANGS_MS);
  });
  const answered = platform.app.request(request.path, {
    method: request.method,
    headers: { ...request.headers, 'x-api-key': 'test-key' },
    ...(body === undefined ? {} : { body }),
  });
  try {
    return await Promise.race([answered, hangs]);
  } finally {
    clearTimeout(timer);
  }
}

/** Holds that an error has one of the contract's shapes, and that its places are places of the request. */
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
 * Whether a place is in the body, or is a field that its object lacks. In a PATCH the object may be lacking, too: a rule
 * for several fields is broken by those that were sent together with those that are carried over.
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

/** What the contract forbids in a body that was accepted. */
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

/** The deployment that a PATCH is about, as it is before it. */
async function readBefore(name: string, { path, headers }: FuzzedRequest): Promise<unknown> {
  if (name !== 'patchDeployment') return undefined;
  const response = await send({ method: 'GET', path: path.split('?')[0] ?? '', headers, body: undefined });
  return response.json();
}

async function check(name: string, request: FuzzedRequest): Promise<void> {
  const before = await readBefore(name, request);
  const response = await send(request);
  const type = response.headers.get('content-type') ?? '';
  const text = await response.text();
  const counted = tally.get(name) ?? { sent: 0, accepted: 0 };
  tally.set(name, counted);
  requests += 1;
  counted.sent += 1;
  expect(response.status, text).toBeLessThan(500);
  const body = parsed(request.body);
  if (response.status >= 400) expectContractError(request.method, response.status, text, body);
  else {
    counted.accepted += 1;
    expect(await forbidden(name, request, body, before), JSON.stringify(body)).toEqual([]);
  }
  CONTROL_PLANE.expectAnswer(request.method, request.path, { status: response.status, type, text });
  if (requests % CLEAN_EVERY === 0) await clean();
}

function parsed(body: string | undefined): unknown {
  try {
    return JSON.parse(body ?? '') as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Away with what was accepted, so that the ten-thousandth request meets no more than the first. */
async function clean(): Promise<void> {
  const { kysely } = platform;
  const kept = [...known.deployments];
  await kysely.deleteFrom('tracing_projects').where('deployment_id', 'not in', kept).execute();
  await kysely.deleteFrom('deployments').where('id', 'not in', kept).execute();
  await kysely.deleteFrom('listeners').execute();
  await kysely.deleteFrom('integrations').execute();
  await kysely
    .deleteFrom('revisions')
    .where('status', '=', 'SKIPPED')
    .where('id', 'not in', [...known.revisions])
    .execute();
}

describe('generated requests get no 5xx, no silence, and nothing in that the contract forbids:', () => {
  const timeout = (SECONDS + 120) * 1_000;

  it.each(ENDPOINTS.filter(([name]) => name !== 'deleteDeployment'))('%s', { timeout }, (name, endpoint) =>
    fuzz(name, requestsTo(name, endpoint, known)),
  );

  it('deleteDeployment', { timeout }, async () => {
    const deployments: string[] = [];
    for (let index = 0; index < 20; index += 1) {
      deployments.push(await platform.create(`to delete ${index}`));
    }
    const endpoint = CONTROL_PLANE_ENDPOINTS.deleteDeployment;
    await fuzz('deleteDeployment', requestsTo('deleteDeployment', endpoint, { ...known, deployments }));
  });

  it('and enough of them are let in to try what lies behind', () => {
    const accepted = [...tally.values()].reduce((sum, each) => sum + each.accepted, 0);
    expect(accepted).toBeGreaterThan(requests / 20);
  });
});

/** Sends one endpoint's requests until its share of the time is over. */
async function fuzz(name: string, asked: fc.Arbitrary<FuzzedRequest>): Promise<void> {
  const share = (each: string): number => SHARES[each] ?? 1;
  const shares = ENDPOINTS.reduce((sum, [each]) => sum + share(each), 0);
  const until = performance.now() + (SECONDS * 1_000 * share(name)) / shares;
  const property = fc.asyncProperty(asked, (request) => check(name, request));
  let seed = SEED;
  do {
    await fc.assert(property, { seed, numRuns: BATCH });
    seed += 1;
  } while (performance.now() < until);
}
