import { describe, expect, it } from 'vitest';

import { EMPTY_TARGET } from '../../../src/domain/target/targetState.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { landsLate, refused, unansweredAndLost } from '../faults.ts';
import { abandoned, heldIn, waitingFor } from '../moments.ts';
import { identity, QUICK, tarball } from '../requests.ts';
import { seen } from '../seen.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

describeWorkflows('an abandoned revision that becomes active', (harness) => {
  it('just before the next release reads what serves is not its baseline', async () => {
    const { target, good } = harness.newServingTarget();
    const late = await abandoned(target);
    target.world.next('findDeployment', (perform, world) => {
      world.bringUp(late);
      return perform();
    });
    target.world.bad.add(identity('c'));
    expect(await target.release('c')).toMatchObject({
      outcome: 'rolled_back',
      baseline: { revisionId: good, verified: true },
      servingRevisionId: good,
    });
    expect(target.world.active).toBe(good);
    expect((await target.idle()).state.drift).toBeNull();
  });

  it('while the next release waits for an approval is countered, after that release has ended', async () => {
    const { target, good } = harness.newServingTarget();
    const late = await abandoned(target);
    const releaseId = await waitsForApproval(target);
    target.world.bringUp(late);
    const { state } = await target.viewOnce((view) => view.state.history.length === 3);
    expect(state.history).toMatchObject([
      { outcome: 'rolled_back', servingRevisionId: good },
      { releaseId, outcome: 'aborted' },
      { kind: 'rollback', outcome: 'rolled_back', servingRevisionId: good, requestedBy: { from: 'watch' } },
    ]);
    expect(state.history[1]?.reason).toContain(`revision ${late} became active after it was abandoned`);
    expect([target.world.active, state.hold, state.late]).toEqual([good, null, []]);
  });

  it('after its deadline has passed without a read is countered anyway', async () => {
    const target = harness.newTarget();
    const good = target.world.madeElsewhere('agent');
    const late = target.world.patchElsewhere('late');
    target.world.bringUp(late);
    const request = target.request('a');
    const deploymentId = target.world.deployment?.id ?? '';
    target.startWith({
      state: {
        ...EMPTY_TARGET,
        spec: request.target,
        lastRequest: request,
        activeRevisionId: good,
        known: [{ revisionId: good, verified: true, at: '2026-01-01T00:00:00.000Z' }],
        late: [{ revisionId: late, deploymentId, restoreTo: good, until: '2026-01-01T00:00:00.000Z' }],
      },
    });
    await target.startOnly();
    const { state } = await target.viewOnce((view) => view.state.history.length === 1);
    expect(state.history).toMatchObject([{ kind: 'rollback', servingRevisionId: good }]);
    expect(target.world.active).toBe(good);
  });

  it('while the next release goes forward does not stop that: its own revision replaces the late one', async () => {
    const { target, good } = harness.newServingTarget();
    const late = await abandoned(target);
    const { releaseId, gate } = await heldIn('uploadArtifact', target, 'c');
    target.world.bringUp(late);
    await isTold(target, releaseId);
    gate.open();
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'released', baseline: { revisionId: good } });
    expect(target.world.active).toBe(result.revisionId);
    expect((await target.idle()).state.history).toHaveLength(2);
  });

  it('while the next release waits for a decision after its PATCH makes that release roll back', async () => {
    const { target, good } = harness.newServingTarget();
    const late = await abandoned(target);
    target.world.next('awaitDeployed', refused('SLIPWAY_STEP_TIMED_OUT'));
    const releaseId = await waitingFor('decision', target, 'c', {
      onError: { then: 'wait', waitMs: 60_000 },
    });
    target.world.bringUp(late);
    expect(await target.result(releaseId)).toMatchObject({
      outcome: 'rolled_back',
      servingRevisionId: good,
      preemptedBy: { requestedBy: { who: 'slipway', from: 'watch' } },
    });
    expect(target.world.active).toBe(good);
    expect((await target.idle()).state.history).toHaveLength(2);
  });

  it('if a release that it did not stop fails unchanged is countered before the next one', async () => {
    const { target, good } = harness.newServingTarget();
    const late = await abandoned(target);
    const gate = target.world.gate('uploadArtifact', refused());
    const { releaseId } = await target.submit('c', { queue: 'all' });
    await target.submit('d', { queue: 'all', approval: { required: 1, withinMs: 3_600_000 } });
    target.world.bringUp(late);
    await isTold(target, releaseId);
    gate.open();
    const { state } = await target.viewOnce((view) => view.state.history.length === 3);
    expect(state.history.slice(1)).toMatchObject([
      { releaseId, outcome: 'failed' },
      { kind: 'rollback', outcome: 'rolled_back', servingRevisionId: good },
    ]);
    expect(target.world.active).toBe(good);
  });

  it('from a PATCH that lands while the next release waits for an approval is countered, too', async () => {
    const { target, good } = harness.newServingTarget();
    let land = (): void => undefined;
    const landing = new Promise<void>((resolve) => (land = resolve));
    const late = landsLate(() => landing);
    target.world.next('patchDeployment', late, unansweredAndLost, unansweredAndLost);
    target.world.slow.add(identity('b'));
    expect((await target.release('b')).outcome).toBe('rolled_back');
    const releaseId = await waitsForApproval(target);
    land();
    await target.viewOnce(({ state }) => state.extras.length > 0);
    target.world.bringUp(target.world.revisionsOf(tarball('b'))[0] ?? '');
    const { state } = await target.viewOnce((view) => view.state.history.length === 3);
    expect(state.history.slice(1)).toMatchObject([
      { releaseId, outcome: 'aborted' },
      { kind: 'rollback', outcome: 'rolled_back', servingRevisionId: good },
    ]);
  });

  it('after a release that stopped without a restore is countered with what served then', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.slow.add(identity('b'));
    const steps = { ...QUICK, deployed: { ...QUICK.deployed, scheduleToCloseMs: 2_000 } };
    const onError = { then: 'stop', waitMs: 0 } as const;
    const { revisionId, outcome } = await target.release('b', { steps, onError });
    expect([outcome, target.world.redeployed]).toEqual(['errored', []]);
    target.world.bringUp(revisionId ?? '');
    const { state } = await target.viewOnce((view) => view.state.history.length === 2);
    expect(state.history[1]).toMatchObject({
      kind: 'rollback',
      outcome: 'rolled_back',
      servingRevisionId: good,
      requestedBy: { from: 'watch' },
    });
    expect([target.world.active, state.needsPerson]).toEqual([good, null]);
  });

  describe('of which the target has begun the rollback', () => {
    /** A target with two verified revisions. The rollback that counters a late one has not looked at the deployment yet. */
    const countering = async () => {
      const [target, good, serving] = await harness.newReleasedTarget('x', 'a');
      const late = await abandoned(target);
      const looks = target.world.count('findDeployment');
      const gate = target.world.gate('findDeployment');
      target.world.bringUp(late);
      await target.world.called('findDeployment', looks + 1);
      const ends = async (rollbacks = 1) => {
        gate.open();
        const { state } = await target.viewOnce(({ state: { history } }) => history.length === 3 + rollbacks);
        return state;
      };
      return { target, good, serving, ends };
    };

    it('is not replaced by what a person puts in quarantine meanwhile', async () => {
      const { target, good, ends } = await countering();
      await target.handle.executeUpdate('quarantine', { args: [{ artifact: identity('a'), who: 'bo' }] });
      expect((await ends()).history.at(-1)).toMatchObject({ kind: 'rollback', servingRevisionId: good });
      expect(target.world.active).toBe(good);
    });

    it('is not replaced for good by what a person leaves meanwhile', async () => {
      const { target, good, serving, ends } = await countering();
      const answer = await target.rollback({ serving });
      expect(answer).toMatchObject({ disposition: 'queued', serves: { revisionId: good } });
      const { known, hold } = await ends(2);
      expect(target.world.active).toBe(good);
      expect(known.find(({ revisionId }) => revisionId === serving)?.quarantined).toBe(true);
      expect(hold?.requestId).toBe(answer.requestId);
    });

    it('and that another tool has replaced stays replaced', async () => {
      const { target, good, ends } = await countering();
      target.world.bringUp(good);
      const before = target.world.redeployed.length;
      expect((await ends()).activeRevisionId).toBe(good);
      expect(target.world.redeployed).toHaveLength(before);
    });
  });

  it('and was verified before stays restorable once it is countered: no person left it', async () => {
    const [target, good, slow] = await harness.newReleasedTarget('x', 'a');
    target.world.bad.add(identity('b'));
    target.world.slow.add(slow);
    const steps = { ...QUICK, deployed: { ...QUICK.deployed, scheduleToCloseMs: 1_000 } };
    expect(await target.release('b', { steps })).toMatchObject({ servingRevisionId: good });
    target.world.bringUp(slow);
    const { state } = await target.viewOnce(({ state: { history } }) => history.length === 4);
    expect(state.history[3]).toMatchObject({ kind: 'rollback', servingRevisionId: good });
    const known = state.known.find(({ revisionId }) => revisionId === slow);
    expect(known).toMatchObject({ verified: true });
    expect(known).not.toHaveProperty('quarantined');
  });

  it('too late is dropped after a read, also while a release waits', async () => {
    const { target } = harness.newServingTarget();
    await abandoned(target, 3_000);
    const releaseId = await waitsForApproval(target);
    const { running } = await target.viewOnce(({ state }) => state.late.length === 0);
    expect(running?.releaseId).toBe(releaseId);
    await target.say(releaseId, 'approve', { who: 'bo' });
    expect((await target.result(releaseId)).outcome).toBe('released');
  });
});

/** A release that is never approved. */
function waitsForApproval(target: TargetUnderTest): Promise<string> {
  return waitingFor('approval', target, 'c', { approval: { required: 1, withinMs: 3_600_000 } });
}

/** Waits until the target has told a release that an abandoned revision serves. */
async function isTold(target: TargetUnderTest, releaseId: string): Promise<void> {
  const release = target.child(releaseId);
  await seen(release, async () => {
    const { events } = await release.fetchHistory();
    const told = events?.some((event) => event.workflowExecutionSignaledEventAttributes != null);
    return told === true ? true : undefined;
  });
}
