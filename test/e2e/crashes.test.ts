import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { type Fault, type ProxiedRequest } from './faultProxy.ts';
import { Observer } from './observer.ts';
import { Project } from './project.ts';
import { Stack } from './stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start();
});
afterAll(() => stack.stop());
afterEach(() => {
  stack.proxy.rule = () => undefined;
});

/** A request of one step, by which the step is recognized on the wire. */
type Step = readonly [name: string, matches: (request: ProxiedRequest) => boolean];

const STEPS: readonly Step[] = [
  ['find', ({ method, path }) => method === 'GET' && path.startsWith('/v2/deployments?')],
  ['create', ({ method, path }) => method === 'POST' && path === '/v2/deployments'],
  ['upload URL', ({ method, path }) => method === 'POST' && path.endsWith('/upload-url')],
  ['upload', ({ method, path }) => method === 'PUT' && path.startsWith('/uploads/')],
  ['patch', ({ method }) => method === 'PATCH'],
  ['deployed', ({ method, path }) => method === 'GET' && /\/revisions\/[0-9a-f-]+$/.test(path)],
  ['serving', ({ method, path }) => method === 'GET' && /\/agents\/[0-9a-f-]+\/ok$/.test(path)],
  ['check', ({ method, path }) => method === 'POST' && path.endsWith('/runs/stream')],
];

/** Lets the first request of a step be met: the rest of the test happens while it is in flight. */
function meet(
  matches: Step[1],
  fault: (released: Promise<void>) => Fault,
): { met: Promise<void>; release: () => void } {
  let meetIt = (): void => undefined;
  let release = (): void => undefined;
  const met = new Promise<void>((resolve) => (meetIt = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  let seen = false;
  stack.proxy.rule = (request) => {
    if (seen || !matches(request)) return undefined;
    seen = true;
    meetIt();
    return fault(released);
  };
  return { met, release };
}

describe.each([
  ['before the request is taken', (): Fault => ({ kind: 'drop' })],
  [
    'after the request is taken and before it is answered',
    (until: Promise<void>): Fault => ({ kind: 'hold_answer', until }),
  ],
] as const)('kill -9 of the worker %s', (moment, fault) => {
  it.each(STEPS)(
    'in the step %s: the release completes, with exactly one revision',
    async (step, matches) => {
      const deployment = `crash-${step}-${moment.split(' ')[0] ?? ''}`.replaceAll(' ', '-').toLowerCase();
      const project = await Project.create(stack, { example: 'greeter', deployment });
      const seen = new Observer(stack, deployment);
      const { met, release } = meet(matches, fault);
      const following = project.run('release', 'staging');
      await met;
      await stack.worker.kill();
      release();
      await stack.startWorker();
      const code = await following.exited;
      expect(following.stdout + following.stderr).toContain('released');
      expect(code).toBe(0);
      expect(await seen.shippedRevisions()).toHaveLength(1);
      expect((await seen.result('release-1')).extraRevisionIds).toEqual([]);
    },
  );
});

describe('other deaths in the middle of a release', () => {
  it('the worker is asked to end while it polls: it ends with 0, and another one goes on', async () => {
    const project = await Project.create(stack, { example: 'greeter', deployment: 'worker-shutdown' });
    const polling = new Promise<void>((resolve) => {
      stack.proxy.rule = (request) => {
        if (STEPS[5]![1](request)) resolve();
        return undefined;
      };
    });
    const following = project.run('release', 'staging');
    await polling;
    expect(await stack.worker.stop()).toBe(0);
    await stack.startWorker();
    expect(await following.exited).toBe(0);
    expect(await new Observer(stack, 'worker-shutdown').shippedRevisions()).toHaveLength(1);
  });

  it('Temporal is killed and comes back: the release completes', async () => {
    const project = await Project.create(stack, { example: 'greeter', deployment: 'crash-temporal' });
    const { met, release } = meet(STEPS[5]![1], (until) => ({ kind: 'hold_answer', until }));
    const following = project.run('release', 'staging');
    await met;
    await stack.temporal.kill();
    release();
    await stack.startTemporal();
    expect(await following.exited).toBe(0);
    expect(await new Observer(stack, 'crash-temporal').shippedRevisions()).toHaveLength(1);
  });

  it('the platform is killed while it builds, and comes back: the release completes', async () => {
    const project = await Project.create(stack, { example: 'greeter', deployment: 'crash-platform' });
    const { met, release } = meet(STEPS[5]![1], (until) => ({ kind: 'hold_answer', until }));
    const following = project.run('release', 'staging');
    await met;
    await stack.platform.killAlone();
    release();
    await stack.startPlatform();
    expect(await following.exited).toBe(0);
    const seen = new Observer(stack, 'crash-platform');
    expect(await seen.shippedRevisions()).toHaveLength(1);
    expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
  });

  it('the command that asked is killed: the release completes, and the same command joins it', async () => {
    const project = await Project.create(stack, { example: 'greeter', deployment: 'crash-cli' });
    const { met, release } = meet(STEPS[5]![1], (until) => ({ kind: 'hold_answer', until }));
    const first = project.run('release', 'staging');
    await met;
    await first.kill();
    release();
    const { code } = await project.ran('release', 'staging');
    expect(code).toBe(0);
    expect(await new Observer(stack, 'crash-cli').shippedRevisions()).toHaveLength(1);
  });
});

it('what must always hold has held in all of it', async () => {
  expect(await stack.audit()).toEqual([]);
});
