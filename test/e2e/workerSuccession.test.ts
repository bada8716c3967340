import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import type { ProxiedRequest } from './faultProxy.ts';
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

/** A release of a deployment of its own, with the deadlines and retries that users have. */
function projectFor(deployment: string): Promise<Project> {
  const example = { says: 'Hello Ada!' };
  return Project.create(stack, { example, deployment, steps: 'as they are' });
}

const isFind = ({ method, path }: ProxiedRequest): boolean =>
  method === 'GET' && path.startsWith('/v2/deployments?');
const isPatch = ({ method }: ProxiedRequest): boolean => method === 'PATCH';
const isPoll = ({ method, path }: ProxiedRequest): boolean =>
  method === 'GET' && /\/revisions\/[0-9a-f-]+$/.test(path);

/** Waits for the first request of a kind, which gets no answer. */
function cutOff(matches: (request: ProxiedRequest) => boolean): Promise<void> {
  return new Promise((resolve) => {
    let seen = false;
    stack.proxy.rule = (request) => {
      if (seen || !matches(request)) return undefined;
      seen = true;
      resolve();
      return { kind: 'hold_back', until: new Promise(() => undefined) };
    };
  });
}

describe('a worker that is started at once after a kill', () => {
  it.each([
    ['find', isFind, 'findDeployment'],
    ['patch', isPatch, 'patchDeployment'],
  ] as const)(
    'in the step %s: fails what the killed one held, and the release goes on at once',
    async (step, matches, activityType) => {
      const deployment = `successor-${step}`;
      const project = await projectFor(deployment);
      const seen = new Observer(stack, deployment);
      const met = cutOff(matches);
      const following = project.run('release', 'staging');
      await met;
      await stack.worker.kill();
      await stack.startWorker();
      const told = await stack.worker.line(({ event }) => event === 'took_over');
      expect(told).toMatchObject({
        activityType,
        from: expect.stringMatching(/^slipway@.+:\d+:[0-9a-f]{12}$/),
      });
      expect(await following.exited).toBe(0);
      expect(await seen.stepFailures('release-1')).toContainEqual({
        activityType,
        code: 'SLIPWAY_WORKER_KILLED',
        message: `the worker ${String(told['from'])} was killed while it did this`,
      });
      expect(await seen.shippedRevisions()).toHaveLength(1);
    },
  );
});

describe('a worker that is asked to end while it polls', () => {
  it('ends with 0, and another worker continues', async () => {
    const project = await projectFor('worker-shutdown');
    const polling = new Promise<void>((resolve) => {
      stack.proxy.rule = (request) => {
        if (isPoll(request)) resolve();
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
});

it('every rule holds at the end', async () => {
  expect(await stack.audit()).toEqual([]);
});
