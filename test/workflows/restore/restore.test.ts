import { describe, expect, it } from 'vitest';

import { describeWorkflows } from '../describeWorkflows.ts';
import { answeredWithOldLatest, notTaken, refused } from '../faults.ts';
import { abandoned } from '../moments.ts';
import { identity, tarball } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import type { Fault } from '../world.ts';

describeWorkflows('a restore', (harness) => {
  it('continues with the next verified revision if the baseline cannot be deployed', async () => {
    const [target, older, newer] = await harness.newReleasedTarget('x', 'y');
    target.world.broken.set(newer, 'DEPLOY_FAILED');
    target.world.bad.add(identity('b'));
    const result = await target.release('b');
    expect(target.world.redeployed).toEqual([newer, newer, older]);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: older, servingVerified: true });
    expect(target.world.active).toBe(older);
  });

  it.each([[false], [true]])(
    'leaves what another tool restored during the soak (as a copy: %s), also from the baseline',
    async (redeployMakesRevision) => {
      const [target, good, earlier, newer] = await harness.newReleasedTarget('x', 'a', 'b');
      target.world.controlPlane.redeployMakesRevision = redeployMakesRevision;
      const { releaseId } = await target.submit('c', { soakMs: 1_000 });
      await target.progressOnce(releaseId, ({ steps }) => steps.at(-1)?.step === 'soak');
      const restored = await target.world.redeployElsewhere(earlier);
      const result = await target.result(releaseId);
      expect(result).toMatchObject({ outcome: 'rolled_back', baseline: { revisionId: restored } });
      const { state } = await target.idle();
      expect(target.world.redeployed).toEqual([restored]);
      expect(state.known.find(({ revisionId }) => revisionId === newer)).toMatchObject({ quarantined: true });
      const serving = state.activeRevisionId ?? '';
      expect(await target.rollback({ serving })).toMatchObject({ serves: { revisionId: good } });
    },
  );

  it('continues if a redeploy is rejected permanently', async () => {
    const [target, older, newer] = await harness.newReleasedTarget('x', 'y');
    target.world.bad.add(identity('b'));
    target.world.next('redeployRevision', refused('SLIPWAY_NOT_FOUND', 404));
    const result = await target.release('b');
    expect(target.world.redeployed).toEqual([newer, older]);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: older });
  });

  it('without a working revision ends rollback_failed, with the commands and without a key', async () => {
    const [target, older, newer] = await harness.newReleasedTarget('x', 'y');
    target.world.broken.set(newer, 'DEPLOY_FAILED').set(older, 'DEPLOY_FAILED');
    target.world.bad.add(identity('b'));
    const result = await target.release('b');
    expect(result).toMatchObject({
      outcome: 'rollback_failed',
      servingRevisionId: result.revisionId,
      servingVerified: false,
    });
    expect(target.world.redeployed).toEqual([newer, newer, older, older]);
    const redeploy = `/v2/deployments/${result.deploymentId}/revisions/${newer}/redeploy`;
    expect(result.instructions).toContain(`slipway rollback production --to ${newer}`);
    expect(result.instructions).toContain('curl -X POST -H "X-Api-Key: $CONTROL_PLANE_KEY"');
    expect(result.instructions).toContain(redeploy);
    expect(result.instructions).toContain(`was not deployed`);
    expect(result.instructions).toContain(`/revisions/${older}"`);
    expect(target.world.records.at(-1)?.instructions).toBe(result.instructions);
    await target.progressOnce(result.releaseId, ({ instructions }) => instructions === result.instructions);
    expect((await target.view()).state.needsPerson?.instructions).toBe(result.instructions);
  });

  it('recommends no revision that has just failed its checks', async () => {
    const [target, older, newer] = await harness.newReleasedTarget('x', 'y');
    target.world.bad.add(newer);
    target.world.broken.set(older, 'DEPLOY_FAILED').set(identity('b'), 'BUILD_FAILED');
    const result = await target.release('b');
    expect(result.outcome).toBe('rollback_failed');
    expect(result.instructions).toContain(`--to ${older}`);
  });

  it('follows the copy that a redeploy made, although its answer still named the revision before', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.controlPlane.redeployMakesRevision = true;
    target.world.bad.add(identity('b'));
    target.world.next('redeployRevision', async (perform, world) => {
      const answer = await answeredWithOldLatest(perform, world);
      world.bringUp(world.latest ?? '');
      return answer;
    });
    const result = await target.release('b');
    expect(target.world.redeployed).toEqual([good]);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: target.world.active });
    expect(result.knownRevisions).toContainEqual(
      expect.objectContaining({ revisionId: target.world.active, copyOf: good, verified: true }),
    );
  });

  it('retries a redeploy that was rejected temporarily', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.bad.add(identity('b'));
    target.world.next('redeployRevision', notTaken(), notTaken('SLIPWAY_RATE_LIMITED', 20));
    const result = await target.release('b');
    expect(target.world.redeployed).toEqual([good, good, good]);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('retries a check that cannot run twice as often as a release before it abandons a revision', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.bad.add(identity('b'));
    target.world.next('runCheck', (perform) => perform(), notTaken(), notTaken(), notTaken());
    expect(await target.release('b')).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    expect(target.world.redeployed).toEqual([good]);
  });

  describe('an abandoned revision', () => {
    it('that becomes active later is countered with what serves, without a hold', async () => {
      const { target, good } = harness.newServingTarget();
      const late = await abandoned(target);
      target.world.bringUp(late);
      const row = await rollbackRow(target);
      expect(row).toMatchObject({
        kind: 'rollback',
        outcome: 'rolled_back',
        servingRevisionId: good,
        requestedBy: { who: 'slipway', from: 'watch' },
      });
      expect(row.requestedBy.reason).toContain(`revision ${late} became active after it was abandoned`);
      expect(target.world.active).toBe(good);
      const { state } = await target.idle();
      expect(state.hold).toBeNull();
      expect(state.late).toEqual([]);
    });

    it('that no longer exists is dropped without a report', async () => {
      const { target } = harness.newServingTarget();
      target.world.next('awaitLateSuccess', refused('SLIPWAY_NOT_FOUND', 404));
      await abandoned(target);
      const { state } = await target.viewOnce(({ state: { late } }) => late.length === 0);
      expect(state.ignored).toEqual([]);
    });

    it.each(['confirmServing', 'runCheck'] as const)(
      'that becomes active during another restore, before its %s, costs that one no attempt: it is redeployed once more',
      async (activity) => {
        const { target, good } = harness.newServingTarget();
        const comesUp: Fault = (perform, world) => {
          world.bringUp(world.revisionsOf(tarball('b'))[0]!);
          return perform();
        };
        target.world.next(activity, comesUp);
        const late = await abandoned(target);
        expect(target.world.redeployed).toEqual([good, good]);
        expect(target.world.active).toBe(good);
        const { state } = await target.idle();
        expect(state.late.map(({ revisionId }) => revisionId)).toEqual([late]);
        expect(state.history).toMatchObject([{ outcome: 'rolled_back', servingRevisionId: good }]);
      },
    );

    it('is watched again after a release in between, and countered with the revision that serves then', async () => {
      const { target } = harness.newServingTarget();
      const late = await abandoned(target);
      const next = await target.release('c');
      expect(next.outcome).toBe('released');
      await target.world.called('awaitLateSuccess', 2);
      target.world.bringUp(late);
      expect(await rollbackRow(target)).toMatchObject({ servingRevisionId: next.revisionId });
      expect(target.world.active).toBe(next.revisionId);
    });

    it('is dropped after it has failed', async () => {
      const { target } = harness.newServingTarget();
      const late = await abandoned(target);
      target.world.end(late, 'INTERRUPTED');
      const { state } = await target.viewOnce((view) => view.state.late.length === 0);
      expect(state.rollbacks).toEqual([]);
      expect(state.history.map((row) => row.kind)).toEqual(['release']);
    });

    it('is watched beside the others: the second to be abandoned is countered first', async () => {
      const { target, good } = harness.newServingTarget();
      const first = await abandoned(target);
      const second = await abandoned(target, 60_000, 'c');
      await target.viewOnce((view) => view.state.late.length === 2);
      target.world.bringUp(second);
      expect(await rollbackRow(target)).toMatchObject({ servingRevisionId: good });
      const { state } = await target.idle();
      expect(state.late.map(({ revisionId }) => revisionId)).toEqual([first]);
    });

    it('beyond the limit of watches is listed among the ignored', async () => {
      const { target } = harness.newServingTarget();
      target.world.next('awaitLateSuccess', refused('SLIPWAY_UNAUTHORIZED', 401));
      await abandoned(target);
      const { state } = await target.viewOnce((view) => view.state.late.length === 0);
      expect(state.ignored).toMatchObject([{ message: 'watch' }]);
      expect(state.ignored[0]?.reason).toContain('SLIPWAY_UNAUTHORIZED');
    });

    it('is countered on a canceled target, too', async () => {
      const { target, good } = harness.newServingTarget();
      const late = await abandoned(target);
      await target.world.called('awaitLateSuccess');
      await target.handle.cancel();
      target.world.bringUp(late);
      expect(await rollbackRow(target)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    });

    it('of a restore, which then restored an older one, is watched and countered too', async () => {
      const [target, older, newer] = await harness.newReleasedTarget('x', 'y');
      target.world.slow.add(newer);
      target.world.bad.add(identity('b'));
      const givenUp = refused('SLIPWAY_STEP_TIMED_OUT');
      target.world.next('awaitDeployed', (perform) => perform(), givenUp, givenUp);
      const result = await target.release('b');
      expect(result).toMatchObject({
        outcome: 'rolled_back',
        servingRevisionId: older,
        givenUpRevisionIds: [newer],
      });
      await target.world.called('awaitLateSuccess');
      target.world.bringUp(newer);
      expect(await rollbackRow(target)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: older });
      expect(target.world.active).toBe(older);
    });

    it('is watched too if it was deployed but never served', async () => {
      const { target, good } = harness.newServingTarget();
      target.world.next('confirmServing', refused('SLIPWAY_NOT_SERVING'));
      const result = await target.release('b');
      expect(result).toMatchObject({
        outcome: 'rolled_back',
        servingRevisionId: good,
        givenUpRevisionIds: [result.revisionId],
      });
    });
  });
});

/** The row of the first rollback in the target's history. */
async function rollbackRow(target: TargetUnderTest) {
  const isRollback = ({ kind }: { kind: string }): boolean => kind === 'rollback';
  const { state } = await target.viewOnce((view) => view.state.history.some(isRollback));
  return state.history.find(isRollback)!;
}
