import { expect, it } from 'vitest';

import { preemptSignal } from '../../src/workflows/messages.ts';
import { describeWorkflows, identity, QUICK, stepNames, type Target } from './harness.ts';
import { refused, unansweredButTaken } from './world.ts';

describeWorkflows('a manual rollback while a release runs', (harness) => {
  it('by update while polling: the release stops and the baseline serves again', async () => {
    const { target, good } = harness.newServingTarget();
    const releaseId = await polling(target);
    const answer = await target.rollback({ who: 'bo', reason: 'errors' });
    expect(answer).toMatchObject({ disposition: 'preempting', reason: `${releaseId} is being stopped` });
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
    const { target, good } = harness.newServingTarget();
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
    const gate = target.world.gate('runCheck');
    const { releaseId } = await target.submit('b');
    await target.world.called('runCheck');
    await target.rollback();
    const result = await target.result(releaseId);
    gate.open();
    expect(stepNames(result)).toContain('check canceled');
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good, givenUpRevisionIds: [] });
  });

  it('before the PATCH ends it aborted: nothing is sent and nothing redeployed', async () => {
    const { target, good } = harness.newServingTarget();
    const gate = target.world.gate('uploadArtifact');
    const { releaseId } = await target.submit('b');
    await target.world.called('uploadArtifact');
    const { requestId } = await target.rollback();
    const result = await target.result(releaseId);
    gate.open();
    expect(result).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
    expect((await target.ended(requestId)).releaseId).toBe(releaseId);
    await target.idle();
    expect(target.world.count('patchDeployment')).toBe(0);
    expect(target.world.redeployed).toEqual([]);
  });

  it('before the PATCH of an image, which follows on no upload, sends nothing either', async () => {
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

  it('before the PATCH, to a revision by name, redeploys that one', async () => {
    const { target } = harness.newServingTarget();
    const older = target.world.patchElsewhere('older');
    target.world.end(older, 'DEPLOYED');
    const gate = target.world.gate('uploadArtifact');
    const { releaseId } = await target.submit('b');
    await target.world.called('uploadArtifact');
    const { requestId } = await target.rollback({ to: older });
    const result = await target.result(releaseId);
    gate.open();
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: older });
    expect((await target.ended(requestId)).releaseId).toBe(releaseId);
    await target.idle();
    expect(target.world.redeployed).toEqual([older]);
  });

  it('during the PATCH waits for its answer, then restores', async () => {
    const { target, good } = harness.newServingTarget();
    const gate = target.world.gate('patchDeployment');
    const { releaseId } = await target.submit('b');
    await target.world.called('patchDeployment');
    await target.rollback();
    expect(target.world.redeployed).toEqual([]);
    gate.open();
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    expect(result.revisionId).not.toBeNull();
    expect(stepNames(result)).toContain('patch done');
    expect(stepNames(result)).toContain('deployed canceled');
  });

  it('during a PATCH that goes unanswered adopts what came of it, and restores', async () => {
    const { target, good } = harness.newServingTarget();
    const gate = target.world.gate('patchDeployment', unansweredButTaken);
    const { releaseId } = await target.submit('b');
    await target.world.called('patchDeployment');
    await target.rollback();
    gate.open();
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    expect(target.world.count('patchDeployment')).toBe(1);
  });

  it('while it restores already, without a name, changes nothing more', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId, open } = await restoring(target);
    const { requestId } = await target.rollback();
    open();
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good, preemptedBy: null });
    expect((await target.ended(requestId)).releaseId).toBe(releaseId);
    await target.idle();
    expect(target.world.redeployed).toEqual([good]);
  });

  it('while it restores already, to the revision that it restores, is the same rollback', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId, open } = await restoring(target);
    const { requestId } = await target.rollback({ to: good });
    open();
    expect((await target.ended(requestId)).releaseId).toBe(releaseId);
    await target.idle();
    expect(target.world.redeployed).toEqual([good]);
  });

  it('while it restores already, to another revision, runs next', async () => {
    const { target, good } = harness.newServingTarget();
    const older = target.world.patchElsewhere('older');
    target.world.end(older, 'DEPLOYED');
    const { releaseId, open } = await restoring(target);
    const { requestId } = await target.rollback({ to: older });
    open();
    expect((await target.result(releaseId)).servingRevisionId).toBe(good);
    const row = await target.ended(requestId);
    expect(row).toMatchObject({ kind: 'rollback', outcome: 'rolled_back', servingRevisionId: older });
    expect(target.world.redeployed).toEqual([good, older]);
  });

  it('to a revision that the release tried in vain is not tried again by itself', async () => {
    const { target, good } = harness.newServingTarget();
    const older = target.world.patchElsewhere('older');
    target.world.broken.set(older, 'DEPLOY_FAILED');
    const releaseId = await polling(target);
    const { requestId } = await target.rollback({ to: older });
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    expect((await target.ended(requestId)).releaseId).toBe(releaseId);
    await target.idle();
    expect(target.world.redeployed).toEqual([older, good]);
  });

  it('just as the release has completed: a rollback follows it', async () => {
    const { target, good } = harness.newServingTarget();
    const gate = target.world.gate('recordRelease');
    const { releaseId } = await target.submit('b');
    await target.world.called('recordRelease');
    const { requestId, disposition } = await target.rollback();
    expect(disposition).toBe('preempting');
    gate.open();
    expect((await target.result(releaseId)).outcome).toBe('released');
    const row = await target.ended(requestId);
    expect(row).toMatchObject({ kind: 'rollback', outcome: 'rolled_back', servingRevisionId: good });
    expect(target.world.active).toBe(good);
  });

  it('rejects what waits, with the reason, and puts the target on hold', async () => {
    const { target } = harness.newServingTarget();
    await polling(target);
    const waiting = await target.submit('c', { queue: 'all' });
    const another = await target.submit('d', { queue: 'all' });
    await target.rollback({ who: 'bo', reason: 'errors' });
    for (const { releaseId } of [waiting, another]) {
      const row = await target.ended(releaseId);
      expect(row.outcome).toBe('rejected');
      expect(row.reason).toContain('a manual rollback, by bo: errors');
    }
    await target.idle();
    expect(target.world.revisionsOf(target.request('c').artifact)).toEqual([]);
  });

  it('said twice under one request id is one rollback', async () => {
    const { target, good } = harness.newServingTarget();
    const releaseId = await polling(target);
    const first = await target.rollback({ requestId: 'once' });
    const again = await target.rollback({ requestId: 'once' });
    expect([first.disposition, again.disposition]).toEqual(['preempting', 'joined']);
    await target.result(releaseId);
    const later = await target.rollback({ requestId: 'once' });
    expect(later.disposition).toBe('joined');
    await target.idle();
    expect(target.world.redeployed).toEqual([good]);
  });

  it('to the same revision under another request id joins the first, and answers whom to follow', async () => {
    const { target, good } = harness.newServingTarget();
    await polling(target);
    const first = await target.rollback({ requestId: 'first', to: good });
    const second = await target.rollback({ requestId: 'second', to: good });
    expect(second).toMatchObject({ disposition: 'joined', requestId: 'first' });
    expect((await target.ended(first.requestId)).servingRevisionId).toBe(good);
  });

  it('is not disturbed by garbage that is sent to the release itself', async () => {
    const { target } = harness.newServingTarget();
    const gate = target.world.gate('runCheck');
    const { releaseId } = await target.submit('b');
    await target.world.called('runCheck');
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

describeWorkflows('a manual rollback on an idle target', (harness) => {
  it('without a name goes back to the verified revision before the active one', async () => {
    const { target, good } = harness.newServingTarget();
    const bad = await target.release('b');
    expect(bad.outcome).toBe('released');
    const { requestId, disposition } = await target.rollback({ reason: 'errors' });
    expect(disposition).toBe('queued');
    const row = await target.ended(requestId);
    expect(row).toMatchObject({ kind: 'rollback', outcome: 'rolled_back', servingRevisionId: good });
    const result = await target.result(row.releaseId);
    expect(stepNames(result)).toEqual([
      'find done',
      'restore redeploy done',
      'restore deployed done',
      'restore serving done',
      'restore check done',
      'record done',
    ]);
    expect(target.world.active).toBe(good);
    const { state } = await target.idle();
    expect(state.hold).toMatchObject({ by: { reason: 'errors' } });
    expect(state.activeRevisionId).toBe(good);
  });

  it('by name goes back to that revision, and what was left is put back only by name', async () => {
    const { target, good } = harness.newServingTarget();
    const second = await target.release('b');
    const third = await target.release('c');
    const back = await target.rollback({ to: good });
    expect(await target.ended(back.requestId)).toMatchObject({ servingRevisionId: good });
    const { state } = await target.idle();
    expect(state.known).toMatchObject([
      { revisionId: good, verified: true },
      { revisionId: second.revisionId, verified: true },
      { revisionId: third.revisionId, verified: true, quarantined: true },
    ]);
    // The oldest no longer works either: the one in between is put back, not the one that was rolled back from.
    target.world.broken.set(good, 'DEPLOY_FAILED');
    target.world.bad.add(identity('d'));
    const failed = await target.release('d', { overrideHold: true });
    expect(failed).toMatchObject({ outcome: 'rolled_back', servingRevisionId: second.revisionId });
    const forward = await target.rollback({ to: third.revisionId ?? '' });
    expect(await target.ended(forward.requestId)).toMatchObject({ servingRevisionId: third.revisionId });
    expect(
      (await target.idle()).state.known.find(({ revisionId }) => revisionId === third.revisionId),
    ).toEqual(expect.not.objectContaining({ quarantined: true }));
  });

  it('with nothing to go back to ends failed and changes nothing', async () => {
    const target = harness.newTarget();
    const first = await target.release('a');
    const { requestId } = await target.rollback();
    const row = await target.ended(requestId);
    expect(row).toMatchObject({ outcome: 'failed', servingRevisionId: first.revisionId });
    expect(row.reason).toContain('no earlier verified revision is known');
    expect(target.world.redeployed).toEqual([]);
  });

  it('without a name, on hold since the last rollback, is ignored', async () => {
    const { target, good } = harness.newServingTarget();
    await target.release('b');
    await target.ended((await target.rollback()).requestId);
    const again = await target.rollback();
    expect(again).toMatchObject({ disposition: 'ignored' });
    await target.signal('rollback', { reason: 'again' });
    const { state } = await target.viewOnce((view) => view.state.ignored.length === 2);
    expect(state.ignored.map(({ message }) => message)).toEqual(['rollback', 'rollback']);
    expect(target.world.redeployed).toEqual([good]);
  });

  it('while another rollback runs, to another revision runs next, without a name does nothing', async () => {
    const { target, good } = harness.newServingTarget();
    const second = await target.release('b');
    await target.release('c');
    const gate = target.world.gate('redeployRevision');
    const first = await target.rollback({ to: good });
    await target.world.called('redeployRevision');
    expect(await target.rollback()).toMatchObject({ disposition: 'ignored' });
    expect(await target.rollback({ to: good })).toMatchObject({
      disposition: 'joined',
      requestId: first.requestId,
    });
    const next = await target.rollback({ to: second.revisionId ?? '' });
    gate.open();
    expect(await target.ended(first.requestId)).toMatchObject({ servingRevisionId: good });
    expect(await target.ended(next.requestId)).toMatchObject({ servingRevisionId: second.revisionId });
    expect(target.world.redeployed).toEqual([good, second.revisionId]);
  });

  it('whose revision does not come up walks on to an earlier one', async () => {
    const { target, good } = harness.newServingTarget();
    const second = await target.release('b');
    await target.release('c');
    target.world.broken.set(second.revisionId ?? '', 'DEPLOY_FAILED');
    const { requestId } = await target.rollback();
    expect(await target.ended(requestId)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    expect(target.world.redeployed).toEqual([second.revisionId, good]);
  });

  it('that cannot put anything back ends rollback_failed with instructions, and claims nothing to serve', async () => {
    const { target, good } = harness.newServingTarget();
    const second = await target.release('b');
    target.world.broken.set(good, 'DEPLOY_FAILED');
    const { requestId } = await target.rollback();
    const row = await target.ended(requestId);
    const result = await target.result(row.releaseId);
    expect(result).toMatchObject({ outcome: 'rollback_failed', servingRevisionId: second.revisionId });
    expect(result.instructions).toContain('curl -X POST');
  });

  it('that cannot even read the deployment ends rollback_failed, and the next release is no join', async () => {
    const { target, good } = harness.newServingTarget();
    await target.release('b');
    target.world.next('findDeployment', refused('SLIPWAY_UNAUTHORIZED', 401));
    const { requestId } = await target.rollback({ to: good });
    expect(await target.ended(requestId)).toMatchObject({ outcome: 'rollback_failed' });
    expect((await target.view()).state.activeRevisionId).toBeNull();
    const again = await target.submit('b', { overrideHold: true });
    expect(again.disposition).toBe('queued');
    expect((await target.result(again.releaseId)).outcome).toBe('released');
  });

  it('is not stopped halfway by a cancellation', async () => {
    const { target, good } = harness.newServingTarget();
    await target.release('b');
    const gate = target.world.gate('redeployRevision');
    const { requestId } = await target.rollback();
    await target.world.called('redeployRevision');
    const { running } = await target.view();
    await target.child(running?.releaseId ?? '').cancel();
    gate.open();
    expect(await target.ended(requestId)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('on a target that never took a release is refused by update and ignored by signal', async () => {
    const { target } = harness.newServingTarget();
    await target.startOnly();
    await expect(target.rollback()).rejects.toThrow();
    await target.signal('rollback');
    const { state } = await target.viewOnce((view) => view.state.ignored.length === 1);
    expect(state.ignored[0]?.reason).toContain('never taken a release');
    expect(state.hold).toBeNull();
  });
});

/** Submits a release and waits until it polls a revision that does not come up. */
async function polling(target: Target): Promise<string> {
  target.world.slow.add(identity('b'));
  const { releaseId } = await target.submit('b', { steps: QUICK });
  await target.world.called('awaitDeployed');
  return releaseId;
}

/** Submits a release and waits until it has failed and restores, held up in the redeploy. */
async function restoring(target: Target): Promise<{ releaseId: string; open: () => void }> {
  target.world.bad.add(identity('b'));
  const gate = target.world.gate('redeployRevision');
  const { releaseId } = await target.submit('b');
  await target.world.called('redeployRevision');
  return { releaseId, open: () => gate.open() };
}
