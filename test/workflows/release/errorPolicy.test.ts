import { expect, it } from 'vitest';

import type { ErrorPolicy } from '../../../src/domain/release/release.ts';
import type { StepOverride, StepOverrides } from '../../../src/domain/step.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { notTaken } from '../faults.ts';
import type { Harness } from '../harness.ts';
import { waitingFor } from '../moments.ts';
import { QUICK } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import type { Fault } from '../world.ts';
import type { ActivityName } from '../worldActivities.ts';

/** Gives up early on a service that is down: on a call after few attempts, on a poll at its deadline. */
const IMPATIENT: StepOverrides = {
  ...QUICK,
  find: impatient(QUICK.find),
  deployed: { ...QUICK.deployed, scheduleToCloseMs: 3_000 },
  serving: { ...QUICK.serving, scheduleToCloseMs: 3_000 },
};

/** The steps in which the control plane or the agent can be down, with the activity that calls it. */
const STEPS: readonly (readonly [step: string, activity: ActivityName])[] = [
  ['find', 'findDeployment'],
  ['upload', 'uploadArtifact'],
  ['patch', 'patchDeployment'],
  ['deployed', 'awaitDeployed'],
  ['serving', 'confirmServing'],
  ['check', 'runCheck'],
];

describeWorkflows('a long outage of the control plane', (harness) => {
  it.each(['rollback', 'wait', 'stop'] as const)(
    'before anything is changed: fails with on_error %s',
    async (then) => {
      const { target, good } = down(harness, 'patchDeployment');
      const result = await release(target, { then, waitMs: 20 });
      expect(result).toMatchObject({ outcome: 'failed' });
      expect(target.world.active).toBe(good);
      expect(target.world.redeployed).toEqual([]);
    },
  );

  it('after the change: rollback restores the earlier revision', async () => {
    const { target, good, comeBack } = down(harness, 'confirmServing');
    // The restored revision must deploy, serve and pass. The service is down only for the new revision.
    void target.world.called('redeployRevision').then(comeBack);
    const result = await release(target, { then: 'rollback', waitMs: 0 });
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('after the change: stop changes nothing, and needs a person', async () => {
    const { target } = down(harness, 'confirmServing');
    const result = await release(target, { then: 'stop', waitMs: 0 });
    expect(result.outcome).toBe('errored');
    expect(result.instructions).toContain('needs a person');
    expect(target.world.redeployed).toEqual([]);
  });

  it.each(STEPS)(
    'in the step %s: wait asks a person, and retry continues from there',
    async (_, activity) => {
      const { target, comeBack } = down(harness, activity);
      const releaseId = await waitingFor('decision', target, 'b', { onError: WAIT, steps: IMPATIENT });
      comeBack();
      await target.say(releaseId, 'retry', { who: 'bo' });
      expect(await target.result(releaseId)).toMatchObject({ outcome: 'released', extraRevisionIds: [] });
      expect(target.world.redeployed).toEqual([]);
    },
  );

  it('in the soak: retry continues it, and does not begin it again', async () => {
    const { target } = harness.newServingTarget();
    const asked: Fault = (perform) => perform();
    target.world.next('runCheck', asked, ...Array<Fault>(7).fill(notTaken()));
    const releaseId = await waitingFor('decision', target, 'b', { onError: WAIT, soakMs: 3_600_000 });
    const { watchUntil } = await target.progressOnce(releaseId, () => true);
    await target.say(releaseId, 'retry', { who: 'bo' });
    const again = await target.progressOnce(releaseId, ({ steps }) => steps.at(-1)?.status === 'running');
    expect(again.watchUntil).toBe(watchUntil);
    await target.say(releaseId, 'skip', { who: 'bo', what: 'soak' });
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('that stays down during the restore: rollback_failed, with instructions', async () => {
    const { target } = down(harness, 'awaitDeployed', 'redeployRevision');
    const result = await release(target, { then: 'rollback', waitMs: 0 });
    expect(result.outcome).toBe('rollback_failed');
    expect(result.instructions).toContain('1. The control plane gave no usable answer');
  });
});

const WAIT: ErrorPolicy = { then: 'wait', waitMs: 60_000 };
const OFTEN = 500;

function impatient(step: StepOverride | undefined): StepOverride {
  return { ...step, retry: { ...step?.retry, maximumAttempts: 3 } };
}

/** A target whose world does not answer these calls until it is up again. */
function down(
  harness: Harness,
  ...activities: readonly ActivityName[]
): { target: TargetUnderTest; good: string; comeBack: () => void } {
  const { target, good } = harness.newServingTarget();
  let isDown = true;
  for (const activity of activities) {
    const faults = Array.from(
      { length: OFTEN },
      () => (perform: () => Promise<unknown>) => (isDown ? notTaken()(perform, target.world) : perform()),
    );
    target.world.next(activity, ...faults);
  }
  return { target, good, comeBack: () => void (isDown = false) };
}

function release(target: TargetUnderTest, onError: ErrorPolicy): ReturnType<TargetUnderTest['release']> {
  return target.release('b', { onError, steps: IMPATIENT });
}
