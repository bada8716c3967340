import { expect, it } from 'vitest';

import { EMPTY_TARGET } from '../../../src/domain/target/targetState.ts';
import { preemptSignal } from '../../../src/messages/release.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { unansweredButTaken } from '../faults.ts';
import type { Harness } from '../harness.ts';
import { heldIn, polling } from '../moments.ts';
import { identity, stepNames } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

describeWorkflows('a manual rollback while a release runs', (harness) => {
  it('by update while polling: the release stops, and an earlier revision serves again', async () => {
    const { target, good } = servingTheSecond(harness);
    const releaseId = await polling(target);
    const answer = await target.rollback({ who: 'bo', reason: 'errors' });
    expect(answer).toMatchObject({ disposition: 'preempting', serves: { revisionId: good } });
    expect(answer.reason).toContain(`${releaseId} is being stopped`);
    const result = await target.result(releaseId);
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      code: null,
      servingRevisionId: good,
      preemptedBy: { requestId: answer.requestId, requestedBy: { who: 'bo', reason: 'errors' } },
    });
    expect(result.reason).toContain('stopped by a rollback by bo: errors');
    const row = await target.ended(answer.requestId);
    expect(row.releaseId).toBe(releaseId);
    const { state } = await target.idle();
    expect(state.hold?.by).toMatchObject({ who: 'bo', reason: 'errors' });
    expect(state.history.filter(({ kind }) => kind === 'rollback')).toEqual([]);
  });

  it('by a bare signal while polling does the same', async () => {
    const { target, good } = servingTheSecond(harness);
    const releaseId = await polling(target);
    await target.signal('rollback');
    const result = await target.result(releaseId);
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      servingRevisionId: good,
      preemptedBy: { requestedBy: { who: 'unknown', from: 'signal' } },
    });
    expect((await target.idle()).state.hold).not.toBeNull();
  });

  it('while checking does not wait for the check', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('runCheck', target);
    await target.rollback();
    const result = await target.result(releaseId);
    gate.open();
    expect(stepNames(result)).toContain('check canceled');
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good, givenUpRevisionIds: [] });
  });

  it('in the soak, to its own revision, ends the soak: it is released, and nothing is redeployed', async () => {
    const { target } = harness.newServingTarget();
    const { releaseId } = await target.submit('b', { soakMs: 3_600_000 });
    await target.progressOnce(releaseId, ({ steps }) => steps.at(-1)?.step === 'soak');
    const own = target.world.revisionId(2);
    const { requestId } = await target.rollback({ who: 'bo', to: own });
    const result = await target.result(releaseId);
    expect(result).toMatchObject({
      outcome: 'released',
      servingRevisionId: own,
      servingVerified: true,
      interventions: [{ id: requestId, kind: 'skip', what: 'soak', by: { who: 'bo' }, taken: true }],
    });
    expect(await target.ended(requestId)).toMatchObject({ releaseId, outcome: 'released' });
    expect((await target.idle()).state.hold?.by).toMatchObject({ who: 'bo' });
    expect(target.world.redeployed).toEqual([]);
  });

  it('before the PATCH, to the serving revision, ends it aborted: nothing is sent and nothing redeployed', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('uploadArtifact', target);
    const { requestId } = await target.rollback({ to: good });
    const result = await target.result(releaseId);
    gate.open();
    expect(result).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
    expect((await target.ended(requestId)).releaseId).toBe(releaseId);
    await target.idle();
    expect(target.world.count('patchDeployment')).toBe(0);
    expect(target.world.redeployed).toEqual([]);
  });

  it('before the PATCH of an image, which follows no upload, sends nothing either', async () => {
    const target = harness.newTarget();
    const gate = target.world.gate('createDeployment');
    const artifact = { kind: 'image', uri: 'registry.test/agent:1' } as const;
    const { releaseId } = await target.submit('b', { artifact, graphConfigPath: null });
    await target.world.called('createDeployment');
    await target.rollback();
    gate.open();
    const result = await target.result(releaseId);
    expect(result.outcome).toBe('aborted');
    expect(target.world.count('patchDeployment')).toBe(0);
  });

  it('before the PATCH, to a named revision, ends it aborted, and then redeploys that one', async () => {
    const { target } = harness.newServingTarget();
    const older = target.world.patchElsewhere('older');
    target.world.end(older, 'DEPLOYED');
    const { releaseId, gate } = await heldIn('uploadArtifact', target);
    const { requestId } = await target.rollback({ to: older });
    const result = await target.result(releaseId);
    gate.open();
    expect(result.outcome).toBe('aborted');
    expect(await target.ended(requestId)).toMatchObject({ kind: 'rollback', servingRevisionId: older });
    expect(target.world.redeployed).toEqual([older]);
  });

  it('during the PATCH waits for its answer, then restores', async () => {
    const { target, good } = servingTheSecond(harness);
    const { releaseId, gate } = await heldIn('patchDeployment', target);
    await target.rollback();
    expect(target.world.redeployed).toEqual([]);
    gate.open();
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    expect(result.revisionId).not.toBeNull();
    expect(stepNames(result)).toContain('patch done');
    expect(stepNames(result)).toContain('deployed canceled');
  });

  it('during an unanswered PATCH adopts its revision, and restores', async () => {
    const { target, good } = servingTheSecond(harness);
    const gate = target.world.gate('patchDeployment', unansweredButTaken);
    const { releaseId } = await target.submit('b');
    await target.world.called('patchDeployment');
    await target.rollback();
    gate.open();
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    expect(target.world.count('patchDeployment')).toBe(1);
  });

  it('during its restore, without a name, changes nothing more', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId, gate } = await restoring(target);
    const { requestId } = await target.rollback();
    gate.open();
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good, preemptedBy: null });
    expect((await target.ended(requestId)).releaseId).toBe(releaseId);
    await target.idle();
    expect(target.world.redeployed).toEqual([good]);
  });

  it('during its restore, to the same revision, is the same rollback', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId, gate } = await restoring(target);
    const { requestId } = await target.rollback({ to: good });
    gate.open();
    expect((await target.ended(requestId)).releaseId).toBe(releaseId);
    await target.idle();
    expect(target.world.redeployed).toEqual([good]);
  });

  it('during its restore, to another revision, runs next', async () => {
    const { target, good } = harness.newServingTarget();
    const older = target.world.patchElsewhere('older');
    target.world.end(older, 'DEPLOYED');
    const { releaseId, gate } = await restoring(target);
    const { requestId } = await target.rollback({ to: older });
    gate.open();
    expect((await target.result(releaseId)).servingRevisionId).toBe(good);
    const row = await target.ended(requestId);
    expect(row).toMatchObject({ kind: 'rollback', outcome: 'rolled_back', servingRevisionId: older });
    expect(target.world.redeployed).toEqual([good, older]);
  });

  it('to a revision that the release tried without success is not retried automatically', async () => {
    const { target, good } = harness.newServingTarget();
    const older = target.world.patchElsewhere('older');
    target.world.broken.set(older, 'DEPLOY_FAILED');
    const releaseId = await polling(target);
    const { requestId } = await target.rollback({ to: older });
    const result = await target.result(releaseId);
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      code: 'SLIPWAY_REVISION_NOT_REACHED',
      servingRevisionId: good,
    });
    expect(result.reason).toContain(`revision ${older} was not reached`);
    expect((await target.ended(requestId)).releaseId).toBe(releaseId);
    await target.idle();
    expect(target.world.redeployed).toEqual([older, older, good]);
  });

  it('just after the release has completed: a rollback follows it', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('recordRelease', target);
    const { requestId, disposition } = await target.rollback();
    expect(disposition).toBe('preempting');
    gate.open();
    expect((await target.result(releaseId)).outcome).toBe('released');
    const row = await target.ended(requestId);
    expect(row).toMatchObject({ kind: 'rollback', outcome: 'rolled_back', servingRevisionId: good });
    expect(target.world.active).toBe(good);
  });

  it('is not disturbed by garbage that is sent to the release itself', async () => {
    const { target } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('runCheck', target);
    const child = target.child(releaseId);
    for (const garbage of [
      undefined,
      null,
      7,
      'stop',
      [],
      {},
      { requestedBy: 1 },
      { to: 4, requestedBy: {} },
    ]) {
      await child.signal(preemptSignal.name, garbage);
    }
    gate.open();
    expect((await target.result(releaseId)).outcome).toBe('released');
  });
});

/** A target whose second verified revision serves. */
function servingTheSecond(harness: Harness): { readonly target: TargetUnderTest; readonly good: string } {
  const { target, good } = harness.newServingTarget();
  const second = target.world.patchElsewhere('second');
  target.world.bringUp(second);
  const known = [good, second].map((revisionId) => ({
    revisionId,
    verified: true,
    at: '2026-01-01T00:00:00.000Z',
  }));
  target.startWith({ state: { ...EMPTY_TARGET, known, activeRevisionId: second } });
  return { target, good };
}

/** Submits a release and waits until it has failed and restores. A gate holds the redeploy. */
function restoring(target: TargetUnderTest): ReturnType<typeof heldIn> {
  target.world.bad.add(identity('b'));
  return heldIn('redeployRevision', target);
}
