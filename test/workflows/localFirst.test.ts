import { Context } from '@temporalio/activity';
import { expect, it } from 'vitest';

import type { Check } from '../../src/domain/check/check.ts';
import type { CheckVerdict, ReleaseRequest } from '../../src/domain/release/release.ts';
import { describeWorkflows } from './describeWorkflows.ts';
import { notTaken, refused } from './faults.ts';
import { triedIn } from './recordedHistory.ts';
import { GREETS, tarball } from './requests.ts';
import type { TargetUnderTest } from './targetUnderTest.ts';
import type { Fault } from './world.ts';

/** A call that lasts until it is given up: a local try until its limit, another one until the workflow cancels it. */
const tooSlow: Fault = () => Context.current().cancelled;

/** What a release tries locally until it has identified the revision of its PATCH. */
const UNTIL_PATCHED = ['findDeployment', 'claimDeployment', 'askAgent', 'uploadArtifact', 'readRevision'];

/** Which activities of a release, or of its target, ran within its workflow tasks, and which through the server. */
async function carriedOut(target: TargetUnderTest, releaseId?: string) {
  const { events } = await (releaseId === undefined ? target.handle : target.child(releaseId)).fetchHistory();
  return {
    // In the order of their ends: the checks of the baseline run beside the upload.
    locally: (events ?? []).flatMap((event) => triedIn(event) ?? []).toSorted(),
    throughServer: (events ?? []).flatMap(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? [],
    ),
    timers: (events ?? []).flatMap((event) => event.timerStartedEventAttributes ?? []),
  };
}

describeWorkflows('a repeatable activity', (harness) => {
  it('is executed within the workflow task', async () => {
    const { target } = harness.newServingTarget();
    const { releaseId } = await target.release('a');
    const { locally, throughServer } = await carriedOut(target, releaseId);
    expect(locally).toEqual(
      [...UNTIL_PATCHED, 'awaitDeployed', 'confirmServing', 'listRevisions', 'recordRelease'].toSorted(),
    );
    expect(throughServer).toEqual(['patchDeployment', 'runCheck']);
  });

  it('is executed through the server if it uploads more than a megabyte', async () => {
    const { target } = harness.newServingTarget();
    const artifact = { ...tarball('a'), sizeBytes: 1_000_001 } as ReleaseRequest['artifact'];
    const { releaseId } = await target.release('a', { artifact });
    const { throughServer } = await carriedOut(target, releaseId);
    expect(throughServer).toEqual(['uploadArtifact', 'patchDeployment', 'runCheck']);
  });

  it('is executed within the workflow task if it is a check that was quick on the revision before', async () => {
    const { target } = harness.newServingTarget();
    await target.release('a');
    const { releaseId } = await target.release('b');
    const { locally, throughServer } = await carriedOut(target, releaseId);
    expect(locally).toContain('runCheck');
    expect(throughServer).toEqual(['patchDeployment']);
    const { requestId } = await target.rollback();
    const rollback = await carriedOut(target, (await target.ended(requestId)).releaseId);
    expect(rollback.throughServer).toEqual(['redeployRevision']);
  });

  it.each<[string, Partial<Check>, number]>([
    ['was slow on the revision before', {}, 101],
    ['has several runs', { repeat: 2 }, 1],
    ['is a conversation', { turns: [{ input: { messages: [] }, expect: {} }] }, 1],
  ])('is executed through the server if it is a check that %s', async (_, check, latencyMs) => {
    const { target } = harness.newServingTarget();
    target.world.next('runCheck', async (perform) => {
      const answer = (await perform()) as { readonly verdict: CheckVerdict };
      return { ...answer, verdict: { ...answer.verdict, latencyMs } };
    });
    await target.release('a');
    const { releaseId } = await target.release('b', { checks: [{ ...GREETS, ...check }] });
    expect((await carriedOut(target, releaseId)).throughServer).toEqual(['patchDeployment', 'runCheck']);
  });

  it('is executed within the workflow task of a new target if it reads the earlier state', async () => {
    const target = harness.newTarget();
    await target.release('a');
    await target.idle();
    expect(await carriedOut(target)).toMatchObject({
      locally: ['recallTarget'],
      throughServer: ['keepTarget'],
    });
  });

  it('is executed through the server if a new target’s read of the earlier state takes too long', async () => {
    const target = harness.newTarget();
    target.world.next('recallTarget', tooSlow);
    await target.release('a');
    await target.idle();
    expect(await carriedOut(target)).toMatchObject({ throughServer: ['recallTarget', 'keepTarget'] });
  });

  it('is executed through the server if the local try fails', async () => {
    const { target } = harness.newServingTarget();
    target.world.nextTries('readRevision', notTaken());
    const { releaseId, outcome } = await target.release('a');
    expect(outcome).toBe('released');
    const { locally, throughServer } = await carriedOut(target, releaseId);
    expect(throughServer).toEqual(['patchDeployment', 'readRevision', 'runCheck']);
    expect(locally).toContain('awaitDeployed');
  });

  it('is executed through the server from then on if a local try takes too long', async () => {
    const { target } = harness.newServingTarget();
    target.world.nextTries('readRevision', tooSlow);
    const { releaseId, outcome } = await target.release('a');
    expect(outcome).toBe('released');
    const { locally, throughServer } = await carriedOut(target, releaseId);
    expect(locally).toEqual(UNTIL_PATCHED.toSorted());
    expect(throughServer).toEqual([
      ...['patchDeployment', 'readRevision', 'awaitDeployed', 'confirmServing', 'runCheck'],
      ...['listRevisions', 'recordRelease'],
    ]);
  });

  it('is not tried locally in a workflow task that has lasted half a second', async () => {
    const { target } = harness.newServingTarget();
    target.world.nextTries('readRevision', reportsMs(600));
    const { releaseId } = await target.release('a');
    const { locally, throughServer } = await carriedOut(target, releaseId);
    expect(locally).toContain('readRevision');
    expect(locally).not.toContain('awaitDeployed');
    expect(locally).toContain('listRevisions');
    expect(throughServer).toContain('awaitDeployed');
  });

  it('is not repeated if the local try was rejected permanently', async () => {
    const { target } = harness.newServingTarget();
    target.world.nextTries('findDeployment', refused());
    expect(await target.release('a')).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_REFUSED' });
    expect(target.world.count('findDeployment')).toBe(1);
  });

  it('is repeated only after the pause that a service requests', async () => {
    const { target } = harness.newServingTarget();
    target.world.nextTries('findDeployment', notTaken('SLIPWAY_RATE_LIMITED', 700));
    const { releaseId } = await target.release('a');
    const { throughServer, timers } = await carriedOut(target, releaseId);
    expect(throughServer[0]).toBe('findDeployment');
    expect(timers).toMatchObject([
      { startToFireTimeout: { seconds: expect.anything(), nanos: 700_000_000 } },
    ]);
  });

  it('delays an abort only by the running try', async () => {
    const { target } = harness.newServingTarget();
    target.world.nextTries('confirmServing', (perform, world) => {
      // If the abort arrives late, the next call awaits it.
      world.next('confirmServing', tooSlow);
      return tooSlow(perform, world);
    });
    const { releaseId } = await target.submit('a');
    await target.world.called('confirmServing');
    await target.say(releaseId, 'abort', { who: 'ada' });
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'aborted' });
    const { throughServer } = await carriedOut(target, releaseId);
    expect(throughServer.indexOf('runCheck')).toBeGreaterThan(throughServer.indexOf('redeployRevision'));
  });
});

/** A try that reports that it took this long. */
function reportsMs(tookMs: number): Fault {
  return async (perform) => ({ ...((await perform()) as object), tookMs });
}
