import protos from '@temporalio/proto';
import { afterEach, describe, expect, it } from 'vitest';

import { targetWorkflowId } from '../../src/domain/target/targetSpec.ts';
import { type Fault, meet, PASS, REQUESTS } from './faultProxy.ts';
import { Observer } from './observer.ts';
import { Project } from './project.ts';
import { useAuditedStack } from './useStack.ts';

const { TimeoutType } = protos.temporal.api.enums.v1;

const stack = useAuditedStack();
afterEach(() => {
  stack.proxy.rule = PASS;
});

/** A release on its own deployment, with the default deadlines and retries. */
function projectFor(deployment: string): Promise<Project> {
  const example = { says: 'Hello Ada!' };
  return Project.create(stack, { example, deployment, steps: 'as they are' });
}

/** No answer until the caller is gone. */
const NO_ANSWER: Fault = { kind: 'hold_back', until: new Promise(() => undefined) };

describe('a worker that starts right after a kill', () => {
  it.each([
    // The first call is a local activity, which Temporal does not know: it ends with its worker.
    ['find', REQUESTS.find, 'findDeployment', { isTriedLocally: true }],
    ['patch', REQUESTS.patch, 'patchDeployment', { isTriedLocally: false }],
  ] as const)(
    'in the step %s: fails what the killed one was running, and the release continues immediately',
    async (step, matches, activityType, { isTriedLocally }) => {
      const deployment = `successor-${step}`;
      const project = await projectFor(deployment);
      const seen = new Observer(stack, deployment);
      const met = meet(stack.proxy, matches, NO_ANSWER, 1);
      const following = project.run('release', 'staging');
      await met;
      if (isTriedLocally) await meet(stack.proxy, matches, NO_ANSWER, 1);
      await stack.worker.kill();
      await stack.startWorker();
      const tookOver = await stack.worker.line(({ event }) => event === 'took_over');
      expect(tookOver).toMatchObject({
        activityType,
        from: expect.stringMatching(/^slipway@.+:\d+:[0-9a-f]{12}$/),
      });
      expect(await following.exited).toBe(0);
      expect(await seen.stepFailures('release-1')).toContainEqual({
        activityType,
        code: 'SLIPWAY_WORKER_KILLED',
        message: `the worker ${String(tookOver['from'])} was killed while it did this`,
      });
      expect(await seen.shippedRevisions()).toHaveLength(1);
      // Temporal does not first offer the release's next task to the killed worker.
      const target = targetWorkflowId({ controlPlane: stack.controlPlane, deployment });
      const { workflow } = await stack.client();
      const { events } = await workflow.getHandle(`${target}/release-1`).fetchHistory();
      const timeouts = events?.flatMap(
        (event) => event.workflowTaskTimedOutEventAttributes?.timeoutType ?? [],
      );
      expect(timeouts).not.toContain(TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START);
    },
  );
});

describe('a worker that shuts down while it polls', () => {
  it('exits 0, and another worker continues', async () => {
    const project = await projectFor('worker-shutdown');
    const polling = meet(stack.proxy, REQUESTS.poll);
    const following = project.run('release', 'staging');
    await polling;
    expect(await stack.worker.stop()).toBe(0);
    await stack.startWorker();
    expect(await following.exited).toBe(0);
    expect(await new Observer(stack, 'worker-shutdown').shippedRevisions()).toHaveLength(1);
  });
});

describe('a target that is terminated while its worker is killed during a release', () => {
  const deployment = 'ended';
  const example = { says: 'Hello Ada!' };

  it('is started again by the next command, with its whole state', async () => {
    const project = await Project.create(stack, { example, deployment });
    const seen = new Observer(stack, deployment);
    expect((await project.ran('release', 'staging')).code).toBe(0);

    await project.touch('another artifact');
    const polling = meet(stack.proxy, REQUESTS.poll, NO_ANSWER);
    expect((await project.ran('release', 'staging', '--no-wait')).code).toBe(0);
    await polling;
    expect((await project.ran('hold', 'staging', '--reason', 'a look')).code).toBe(0);
    await stack.worker.kill();
    const workflowId = targetWorkflowId({ controlPlane: stack.controlPlane, deployment });
    await (await stack.client()).workflow.getHandle(workflowId).terminate('by hand');
    stack.proxy.rule = PASS;
    await stack.startWorker();

    // Any command starts the target again, still on hold.
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

  it('is the same target under any spelling of its control plane, and rejects another address', async () => {
    const port = new URL(stack.controlPlane).port;
    const spelled = await Project.create(stack, {
      example,
      deployment,
      target: { controlPlane: `http://LOCALHOST:${port}/` },
    });
    await spelled.touch('a fourth artifact');
    expect((await spelled.ran('release', 'staging')).code).toBe(0);
    const other = await Project.create(stack, {
      example,
      deployment,
      target: { controlPlane: stack.origin },
    });
    await other.touch('a fifth artifact');
    const refused = await other.ran('release', 'staging');
    expect(refused.text).toContain('belongs to the target "staging"');
    expect(refused.code).toBe(2);
  });
});
