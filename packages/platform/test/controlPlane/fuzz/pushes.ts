import { createHmac, randomUUID } from 'node:crypto';

import fc from 'fast-check';
import { expect } from 'vitest';

import type { TestPlatform } from '../testPlatform.ts';
import { garbage, mostly, mutated, mutation, type Mutation } from './mutations.ts';
import type { FuzzedRequest } from './requests.ts';
import type { FollowedStock } from './stock.ts';
import type { Send } from './uploads.ts';

/** One generated webhook delivery. */
interface FuzzedPush {
  readonly to: 'signed' | 'without a secret' | 'nobody' | 'no id';
  readonly ref: string;
  /** The branch's old and new commit. `at` stands for the last followed commit. */
  readonly before: string;
  readonly after: string;
  readonly isElsewhere: boolean;
  readonly mutations: readonly Mutation[];
  /** The raw body; absent: the push as JSON. */
  readonly raw: string | undefined;
  /** `right`, `none`, `by another secret`, `of another body`, or any other text unchanged. */
  readonly signature: string;
  readonly event: string;
  readonly type: string;
  readonly delivery: string | undefined;
}

const commit = fc.constantFrom('a', 'b', 'c').map((digit) => digit.repeat(40));
const noCommit = fc.constantFrom('0'.repeat(40), 'x', '', 'a'.repeat(39), 'A'.repeat(40), '\0'.repeat(40));

/** Deliveries, some of them of a push that causes a build. */
export const pushes: fc.Arbitrary<FuzzedPush> = fc.record({
  to: mostly(10, 'signed', 'without a secret', 'nobody', 'no id'),
  ref: mostly(6, 'refs/heads/main', 'refs/heads/other', 'refs/tags/main', 'main', 'refs/heads/', '', '\0'),
  before: mostly(3, 'at', commit, noCommit),
  after: mostly(6, commit, noCommit),
  isElsewhere: mostly(3, false, true),
  mutations: mostly(3, [], fc.array(mutation, { minLength: 1, maxLength: 2 })),
  raw: mostly(
    8,
    undefined,
    fc.constantFrom('', '{', '[]', 'payload=', 'payload=%7B%7D', '['.repeat(20_000), '{"__proto__":{}}'),
    garbage.map((value) => JSON.stringify(value)),
    fc.string({ unit: 'binary', maxLength: 60 }),
  ),
  signature: mostly(
    3,
    'right',
    fc.constantFrom('none', 'by another secret', 'of another body'),
    fc.constantFrom('', 'sha256=', 'sha1=x', `sha256=${'0'.repeat(64)}`, 'x'.repeat(5_000)),
  ),
  event: mostly(8, 'push', 'ping', 'create', '', 'PUSH'),
  type: fc.constantFrom('application/json', 'application/x-www-form-urlencoded', 'text/plain'),
  delivery: fc.constantFrom(undefined, '', 'again', 'x'.repeat(500), 'é'),
});

/** Sends a delivery. Expects one revision if it is signed and continues the branch, and no effect otherwise. */
export async function checkPush(
  platform: TestPlatform,
  followed: FollowedStock,
  fuzzed: FuzzedPush,
  send: Send,
): Promise<void> {
  const at = await followedTo(platform, followed.deploymentId);
  const payload = fuzzed.mutations.reduce<unknown>(mutated, {
    ref: fuzzed.ref,
    before: fuzzed.before === 'at' ? (at ?? '0'.repeat(40)) : fuzzed.before,
    after: fuzzed.after,
    repository: {
      clone_url: fuzzed.isElsewhere ? `${followed.url}/other` : followed.url,
      default_branch: 'main',
    },
  });
  const request = requestOf(followed, fuzzed, payload);
  const revisions = await countRevisions(platform, followed.deploymentId);

  const { status, text } = await send(request, readAs(request));

  const made = (await countRevisions(platform, followed.deploymentId)) - revisions;
  const isSigned = fuzzed.to === 'signed' && isRight(request, followed.secret);
  if (!isSigned) expect(status, text).toBeGreaterThanOrEqual(400);
  const isBuilt = (JSON.parse(text) as { decision?: string }).decision === 'built';
  // Repeating a delivery gets the same answer, and has no effect.
  if (isBuilt && made === 0) expect(fuzzed.delivery, text).toMatch(/./u);
  else expect(made, text).toBe(isBuilt ? 1 : 0);
  if (made === 0) return;
  expect(isSigned && fuzzed.event === 'push', text).toBe(true);
  const built = payload as { ref: string; before: string; after: string };
  expect(built.ref).toBe('refs/heads/main');
  expect(built.after).toMatch(/^[0-9a-f]{40}$/u);
  expect(built.after).not.toMatch(/^0+$/u);
  if (at !== null) expect(built.before).toBe(at);
  expect(built.after).not.toBe(at);
  expect(await followedTo(platform, followed.deploymentId)).toBe(built.after);
}

function requestOf(
  { integrationId, silentId, secret }: FollowedStock,
  fuzzed: FuzzedPush,
  payload: unknown,
): Omit<FuzzedRequest, 'body'> & { body: Uint8Array } {
  const ids = { signed: integrationId, 'without a secret': silentId, nobody: randomUUID(), 'no id': 'x' };
  const json = payload === undefined ? '' : JSON.stringify(payload);
  const isForm = fuzzed.type.includes('form');
  const body = Buffer.from(fuzzed.raw ?? (isForm ? new URLSearchParams({ payload: json }).toString() : json));
  const signature = signatureOf(fuzzed.signature, body, secret);
  return {
    method: 'POST',
    path: `/v1/integrations/github/${ids[fuzzed.to]}/webhook`,
    headers: {
      'content-type': fuzzed.type,
      'x-github-event': fuzzed.event,
      ...(fuzzed.delivery !== undefined && { 'x-github-delivery': fuzzed.delivery }),
      ...(signature !== undefined && { 'x-hub-signature-256': signature }),
    },
    body,
  };
}

/** The parsed body of a delivery, if it is valid. */
function readAs({ headers, body }: { headers: FuzzedRequest['headers']; body: Uint8Array }): unknown {
  const text = new TextDecoder().decode(body);
  const isForm = headers['content-type']?.includes('form') === true;
  try {
    return JSON.parse(isForm ? (new URLSearchParams(text).get('payload') ?? '') : text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function signatureOf(kind: string, body: Uint8Array, secret: string): string | undefined {
  const by = (key: string, what: Uint8Array): string =>
    `sha256=${createHmac('sha256', key).update(what).digest('hex')}`;
  switch (kind) {
    case 'right':
      return by(secret, body);
    case 'none':
      return undefined;
    case 'by another secret':
      return by(`${secret}.`, body);
    case 'of another body':
      return by(secret, Buffer.concat([body, Buffer.from(' ')]));
    default:
      return kind;
  }
}

function isRight({ headers, body }: { headers: FuzzedRequest['headers']; body: Uint8Array }, secret: string) {
  return headers['x-hub-signature-256'] === signatureOf('right', body, secret);
}

async function countRevisions(platform: TestPlatform, deploymentId: string): Promise<number> {
  const rows = await platform.kysely
    .selectFrom('revisions')
    .select('id')
    .where('deployment_id', '=', deploymentId)
    .execute();
  return rows.length;
}

/** The commit of the deployment's newest revision. */
async function followedTo(platform: TestPlatform, deploymentId: string): Promise<unknown> {
  const { source_revision_config: config } = await platform.deployment(deploymentId);
  return config['repo_commit_sha'] ?? null;
}
