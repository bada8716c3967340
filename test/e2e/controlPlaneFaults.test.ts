import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Fault, type ProxiedRequest } from './faultProxy.ts';
import { Observer } from './observer.ts';
import { Project } from './project.ts';
import { Stack } from './stack.ts';

let stack: Stack;
let project: Project;
let seen: Observer;
let released = 0;
let good: string;

beforeAll(async () => {
  stack = await Stack.start();
  project = await Project.create(stack, { example: 'greeter', deployment: 'faults' });
  seen = new Observer(stack, 'faults');
  expect((await project.ran('release', 'staging')).code).toBe(0);
});
afterAll(() => stack.stop());
beforeEach(async () => {
  good = (await seen.deployment()).active_revision_id!;
  await project.touch(`change ${++released}`);
});
afterEach(() => {
  stack.proxy.rule = () => undefined;
});

const isFind = ({ method, path }: ProxiedRequest): boolean =>
  method === 'GET' && path.startsWith('/v2/deployments?');
const isPatch = ({ method }: ProxiedRequest): boolean => method === 'PATCH';
const isPoll = ({ method, path }: ProxiedRequest): boolean =>
  method === 'GET' && /\/revisions\/[0-9a-f-]+$/.test(path);

/** Does something to the first requests that match; `times` of them. */
function first(times: number, matches: (request: ProxiedRequest) => boolean, fault: Fault): void {
  let left = times;
  stack.proxy.rule = (request) => (matches(request) && left-- > 0 ? fault : undefined);
}

const GARBAGE: Fault = { kind: 'answer', status: 200, body: '<html>not what you asked for</html>' };
const EMPTY: Fault = { kind: 'answer', status: 200, body: '' };

describe('a control plane that stumbles for a moment', () => {
  it.each<[string, Fault]>([
    ['500', { kind: 'answer', status: 500 }],
    ['503', { kind: 'answer', status: 503 }],
    ['429 with Retry-After', { kind: 'answer', status: 429, headers: { 'retry-after': '1' } }],
    ['garbage', GARBAGE],
    ['nothing', EMPTY],
    ['a closed connection', { kind: 'drop' }],
  ])('and answers %s to a read is asked again: the release completes', async (_what, fault) => {
    first(2, (request) => isFind(request) || isPoll(request), fault);
    expect((await project.ran('release', 'staging')).code).toBe(0);
  });

  it.each<[string, Fault]>([
    ['closes the connection before taking the PATCH', { kind: 'drop' }],
    ['closes the connection after taking the PATCH', { kind: 'lose_answer' }],
    ['answers 503 to the PATCH', { kind: 'answer', status: 503 }],
    [
      'answers 429 with Retry-After to the PATCH',
      { kind: 'answer', status: 429, headers: { 'retry-after': '1' } },
    ],
    ['answers garbage to the PATCH', GARBAGE],
  ])('and %s: exactly one revision comes of it', async (_what, fault) => {
    const before = await seen.shippedRevisions();
    first(1, isPatch, fault);
    expect((await project.ran('release', 'staging')).code).toBe(0);
    expect(await seen.shippedRevisions()).toHaveLength(before.length + 1);
  });
});

describe('a control plane that refuses', () => {
  it.each([
    [401, 'SLIPWAY_UNAUTHORIZED'],
    [403, 'SLIPWAY_UNAUTHORIZED'],
    [409, 'SLIPWAY_CONFLICT'],
    [422, 'SLIPWAY_REFUSED'],
  ])('the PATCH with %d: the release fails with %s, and what served serves', async (status, code) => {
    first(1, isPatch, { kind: 'answer', status });
    const ended = await project.ran('release', 'staging');
    expect(ended.code).toBe(2);
    expect(ended.text).toContain(code);
    expect((await seen.deployment()).active_revision_id).toBe(good);
  });

  it('the key from the start: the release fails before anything is changed', async () => {
    const before = await seen.shippedRevisions();
    first(1, isFind, { kind: 'answer', status: 401 });
    const ended = await project.ran('release', 'staging');
    expect(ended.code).toBe(2);
    expect(ended.text).toContain('SLIPWAY_UNAUTHORIZED');
    expect(ended.text).toContain('not changed');
    expect(await seen.shippedRevisions()).toEqual(before);
  });

  it('that the deployment exists, for good: the release fails before anything is changed', async () => {
    stack.proxy.rule = ({ method, path }) =>
      method === 'POST' && path.endsWith('/upload-url') ? { kind: 'answer', status: 404 } : undefined;
    const ended = await project.ran('release', 'staging');
    expect(ended.code).toBe(2);
    expect(ended.text).toContain('SLIPWAY_NOT_FOUND');
  });
});

describe('a rollback by signal', () => {
  it('pre-empts a release that is polling, and what served before serves again', async () => {
    const polling = new Promise<void>((resolve) => {
      stack.proxy.rule = (request) => {
        if (isPoll(request)) resolve();
        return undefined;
      };
    });
    const following = project.run('release', 'staging');
    await polling;
    const client = await stack.client();
    const { running } = await seen.target();
    const [targetId] = running!.workflowId.split('/release-');
    await client.workflow.getHandle(targetId!).signal('rollback', { reason: 'it looks wrong', who: 'ada' });
    expect(await following.exited).toBe(2);
    const result = await seen.result(running!.releaseId);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    expect(result.reason).toContain('it looks wrong');
    expect((await seen.target()).state.hold?.by.reason).toBe('it looks wrong');
    expect((await project.ran('unhold', 'staging', '--reason', 'tested')).code).toBe(0);
  });
});

describe('two releases at once', () => {
  it('run one after the other, and the newer one serves in the end', async () => {
    const one = project.run('release', 'staging');
    await one.line((line) => JSON.stringify(line).includes('release-'));
    await project.touch(`change ${++released}`);
    const two = project.run('release', 'staging');
    expect([await one.exited, await two.exited]).toEqual([0, 0]);
    const { state } = await seen.target();
    const [older, newer] = state.history.slice(-2);
    expect(newer?.revisionId).toBe((await seen.deployment()).active_revision_id);
    expect(Date.parse(newer!.endedAt)).toBeGreaterThan(Date.parse(older!.endedAt));
  });
});

it('what must always hold has held in all of it', async () => {
  expect(await stack.audit()).toEqual([]);
});
