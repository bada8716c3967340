import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { targetWorkflowId } from '../../src/domain/target/targetSpec.ts';
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

const DEPLOYMENT = 'ended';
const isPoll = ({ method, path }: ProxiedRequest): boolean =>
  method === 'GET' && /\/revisions\/[0-9a-f-]+$/.test(path);

describe('a target that is ended in Temporal while its worker is killed in the middle of a release', () => {
  it('is started again by the next command, with its whole state', async () => {
    const example = { says: 'Hello Ada!' };
    const project = await Project.create(stack, { example, deployment: DEPLOYMENT });
    const seen = new Observer(stack, DEPLOYMENT);
    expect((await project.ran('release', 'staging')).code).toBe(0);

    await project.touch('another artifact');
    const polling = new Promise<void>((resolve) => {
      stack.proxy.rule = (request) => {
        if (!isPoll(request)) return undefined;
        resolve();
        return { kind: 'hold_back', until: new Promise(() => undefined) };
      };
    });
    expect((await project.ran('release', 'staging', '--no-wait')).code).toBe(0);
    await polling;
    expect((await project.ran('hold', 'staging', '--reason', 'a look')).code).toBe(0);
    await stack.worker.kill();
    const { controlPlane } = stack;
    const workflowId = targetWorkflowId({ controlPlane, deployment: DEPLOYMENT });
    await (await stack.client()).workflow.getHandle(workflowId).terminate('by hand');
    stack.proxy.rule = () => undefined;
    await stack.startWorker();

    // Whatever is said to it starts it again, and it is on hold still.
    expect((await project.ran('hold', 'staging', '--reason', 'a second look')).code).toBe(0);
    await project.touch('an artifact that is refused');
    const refused = await project.ran('release', 'staging');
    expect(refused.text).toContain('on hold');
    expect(refused.code).toBe(4);
    expect((await project.ran('unhold', 'staging', '--reason', 'looked')).code).toBe(0);
    await project.touch('a third artifact');
    expect((await project.ran('release', 'staging')).code).toBe(0);
    expect((await seen.result('release-2')).outcome).toBe('aborted');
    expect(await seen.result('release-4')).toMatchObject({
      outcome: 'released',
      baseline: { verified: true },
    });
  });

  it('is the same target under any spelling of its control plane, and refuses another address', async () => {
    const port = new URL(stack.controlPlane).port;
    const example = { says: 'Hello Ada!' };
    const spelled = await Project.create(stack, {
      example,
      deployment: DEPLOYMENT,
      target: { controlPlane: `http://LOCALHOST:${port}/` },
    });
    await spelled.touch('a fourth artifact');
    expect((await spelled.ran('release', 'staging')).code).toBe(0);
    const other = await Project.create(stack, {
      example,
      deployment: DEPLOYMENT,
      target: { controlPlane: stack.origin },
    });
    await other.touch('a fifth artifact');
    const refused = await other.ran('release', 'staging');
    expect(refused.text).toContain('belongs to the target "staging"');
    expect(refused.code).toBe(2);
  });
});

it('every rule holds at the end', async () => {
  expect(await stack.audit()).toEqual([]);
});
