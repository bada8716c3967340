import protos from '@temporalio/proto';
import { expect, it } from 'vitest';

import { describeWorkflows } from '../describeWorkflows.ts';
import type { Harness } from '../harness.ts';
import { identity, QUICK } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

const { EventType } = protos.temporal.api.enums.v1;
type EventType = protos.temporal.api.enums.v1.EventType;

describeWorkflows('a revision that deploys slowly', (harness) => {
  it('is waited for without an activity, and its status is shown', async () => {
    const target = await waitingTarget(harness);
    target.world.slow.delete(identity('a'));
    expect(await target.result('release-1')).toMatchObject({ outcome: 'released' });
  });

  it('is polled again as soon as an attempt of the poller has ended', async () => {
    const target = await waitingTarget(harness);
    const types = async (): Promise<EventType[]> => {
      const { events } = await target.poller.fetchHistory();
      return (events ?? []).map(({ eventType }) => eventType ?? EventType.EVENT_TYPE_UNSPECIFIED);
    };
    const ended = EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED;
    await expect.poll(async () => (await types()).filter((type) => type === ended).length).toBeGreaterThan(1);
    const seen = await types();
    expect(seen.slice(seen.indexOf(ended))).not.toContain(EventType.EVENT_TYPE_TIMER_STARTED);
    target.world.slow.delete(identity('a'));
    expect(await target.result('release-1')).toMatchObject({ outcome: 'released' });
  });

  it('is reported also by a poller that a person has canceled', async () => {
    const target = await waitingTarget(harness);
    await target.poller.cancel();
    target.world.slow.delete(identity('a'));
    expect(await target.result('release-1')).toMatchObject({ outcome: 'released' });
  });

  it('does not prevent an immediate abort of its release', async () => {
    const { target: serving } = harness.newServingTarget();
    const { servingRevisionId } = await serving.release('a');
    const target = await waitingTarget(harness, 'b', serving);
    await target.say('release-2', 'abort', { reason: 'not today' });
    expect(await target.result('release-2')).toMatchObject({ outcome: 'aborted', servingRevisionId });
  });

  it('is abandoned at the deadline of its step', async () => {
    const deployed = { ...QUICK.deployed, scheduleToCloseMs: 3_000 };
    const target = await waitingTarget(harness, 'a', harness.newTarget(), { ...QUICK, deployed });
    expect(await target.result('release-1')).toMatchObject({ code: 'SLIPWAY_STEP_TIMED_OUT' });
  });

  it('that fails meanwhile ends its release', async () => {
    const target = await waitingTarget(harness);
    target.world.broken.set(identity('a'), 'BUILD_FAILED');
    target.world.slow.delete(identity('a'));
    expect(await target.result('release-1')).toMatchObject({ code: 'SLIPWAY_REVISION_FAILED' });
  });
});

/** A target whose release has left its revision to the poller. */
async function waitingTarget(
  harness: Harness,
  artifact = 'a',
  target = harness.newTarget(),
  steps = QUICK,
): Promise<TargetUnderTest> {
  target.world.leavesToPoller = true;
  target.world.slow.add(identity(artifact));
  const { releaseId } = await target.submit(artifact, { steps });
  const { found } = await target.progressOnce(releaseId, (progress) => progress.found !== undefined);
  expect(found?.says).toBe(`revision ${target.world.latest ?? ''} is BUILDING`);
  const { raw } = await target.child(releaseId).describe();
  expect(raw.pendingActivities).toEqual([]);
  return target;
}
