import { expect, it } from 'vitest';

import { describeWorkflows } from '../describeWorkflows.ts';
import { heldIn, polling, waitingFor } from '../moments.ts';
import { identity } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

describeWorkflows(
  'a manual rollback without a name leaves the revision that served at the request',
  (harness) => {
    it('while a release uploads: the release is aborted, and the revision before the serving one is restored', async () => {
      const [target, good, bad] = await harness.newReleasedTarget('x', 'a');
      const { releaseId, gate } = await heldIn('uploadArtifact', target);
      const answer = await target.rollback({ reason: 'errors' });
      expect(answer).toMatchObject({ disposition: 'preempting', serves: { revisionId: good } });
      expect(await target.result(releaseId)).toMatchObject({
        outcome: 'aborted',
        servingRevisionId: bad,
      });
      gate.open();
      expect(await target.ended(answer.requestId)).toMatchObject({
        kind: 'rollback',
        outcome: 'rolled_back',
        servingRevisionId: good,
      });
      expect(target.world.active).toBe(good);
      expect(target.world.redeployed).toEqual([good]);
    });

    it('never goes to one that a person has quarantined while it waited', async () => {
      const [target, good, , bad] = await harness.newReleasedTarget('x', 'a', 'b');
      const recording = target.world.gate('recordRelease');
      const { gate } = await heldIn('uploadArtifact', target, 'c');
      const { requestId } = await target.rollback({ serving: bad });
      await target.handle.executeUpdate('quarantine', { args: [{ artifact: identity('a'), who: 'bo' }] });
      recording.open();
      gate.open();
      expect((await target.ended(requestId)).servingRevisionId).toBe(good);
    });

    it('never goes to one that a person quarantines while the release that it stops sends its PATCH', async () => {
      const [target, good, , bad] = await harness.newReleasedTarget('x', 'a', 'b');
      const { releaseId, gate } = await heldIn('patchDeployment', target, 'c');
      await target.rollback({ serving: bad });
      await target.handle.executeUpdate('quarantine', { args: [{ artifact: identity('a'), who: 'bo' }] });
      gate.open();
      expect(await target.result(releaseId)).toMatchObject({
        outcome: 'rolled_back',
        servingRevisionId: good,
      });
      expect(target.world.redeployed).toEqual([good]);
    });

    it('while a release waits, after another tool has restored that one: it is left, although the release knew another', async () => {
      const [target, good, bad] = await harness.newReleasedTarget('x', 'a', 'b');
      const approval = { required: 1, withinMs: 3_600_000 };
      const releaseId = await waitingFor('approval', target, 'c', { approval });
      target.world.bringUp(bad);
      const { requestId } = await target.rollback({ serving: bad });
      expect(await target.result(releaseId)).toMatchObject({ outcome: 'aborted' });
      await target.idle();
      expect(target.world.active).toBe(good);
      expect(await target.ended(requestId)).toMatchObject({ kind: 'rollback', outcome: 'rolled_back' });
    });

    it('while a release deploys: neither it nor what served is restored', async () => {
      const [target, good, serving] = await harness.newReleasedTarget('x', 'a');
      const releaseId = await polling(target);
      const { requestId } = await target.rollback({ serving });
      expect(await target.result(releaseId)).toMatchObject({
        outcome: 'rolled_back',
        servingRevisionId: good,
      });
      expect((await target.ended(requestId)).releaseId).toBe(releaseId);
      expect(left(await target.idle())).toEqual([serving]);
      expect(target.world.redeployed).toEqual([good]);
    });

    it('that a running release has just replaced: the release continues, and never restores it', async () => {
      const [target, good, serving] = await harness.newReleasedTarget('x', 'a');
      const { releaseId, gate } = await heldIn('runCheck', target);
      const answer = await target.rollback({ serving });
      expect(answer).toMatchObject({ disposition: 'done' });
      target.world.bad.add(identity('b'));
      gate.open();
      expect(await target.result(releaseId)).toMatchObject({
        outcome: 'rolled_back',
        servingRevisionId: good,
      });
      const { state } = await target.idle();
      expect(state.hold).toMatchObject({ requestId: answer.requestId });
      expect(left({ state })).toEqual([serving]);
    });

    it('never goes to one that a person left on the control plane, neither after nor during the next release', async () => {
      const [target, good, bad] = await harness.newReleasedTarget('x', 'a');
      target.world.bringUp(good);
      const { releaseId, gate } = await heldIn('runCheck', target);
      await target.rollback({ serving: target.world.active ?? '', hold: false });
      expect(await target.result(releaseId)).toMatchObject({
        outcome: 'rolled_back',
        servingRevisionId: good,
      });
      gate.open();
      const next = (await target.release('c')).revisionId ?? '';
      const { requestId } = await target.rollback({ serving: next });
      expect((await target.ended(requestId)).servingRevisionId).toBe(good);
      expect(left(await target.idle())).toContain(bad);
    });

    it('remembers what a person left on the control plane before it', async () => {
      const [target, good, serving, bad] = await harness.newReleasedTarget('x', 'a', 'b');
      target.world.bringUp(serving);
      const { requestId } = await target.rollback({ serving });
      expect((await target.ended(requestId)).servingRevisionId).toBe(good);
      expect(left(await target.idle())).toEqual([serving, bad]);
    });

    it('by signal: during a restore, and right after one, changes nothing', async () => {
      const [target, good, first] = await harness.newReleasedTarget('x', 'a');
      target.world.bad.add(identity('b'));
      const gate = target.world.gate('runCheck');
      target.world.next('runCheck');
      const redeploying = target.world.gate('redeployRevision');
      const { releaseId } = await target.submit('b');
      gate.open();
      await target.world.called('redeployRevision');
      await target.signal('rollback', { reason: 'errors' });
      redeploying.open();
      expect(await target.result(releaseId)).toMatchObject({ servingRevisionId: first });
      await target.idle();
      expect(await target.rollback()).toMatchObject({ disposition: 'done', serves: { revisionId: first } });
      await target.signal('rollback');
      const { state } = await target.idle();
      expect(state.hold).toBeNull();
      expect(left({ state })).toEqual([]);
      expect(target.world.redeployed).toEqual([first]);
      expect(target.world.active).not.toBe(good);
    });

    it('and if a redeploy makes a copy, a second one goes to an earlier release, not to the original of the copy', async () => {
      const [target, good, first, second] = await harness.newReleasedTarget('x', 'a', 'b');
      target.world.controlPlane.redeployMakesRevision = true;
      const back = await target.rollback({ serving: second });
      const copy = (await target.ended(back.requestId)).servingRevisionId ?? '';
      expect((await target.view()).state.known.at(-1)).toMatchObject({
        revisionId: copy,
        copyOf: first,
        release: 'release-2',
      });
      const again = await target.rollback({ serving: copy });
      expect(again).toMatchObject({ serves: { revisionId: good } });
      await target.ended(again.requestId);
      expect(target.world.redeployed).toEqual([first, good]);
      expect(left(await target.idle())).toEqual([first, second, copy]);
    });

    it.each([
      ['at once', false],
      ['after a release', true],
    ])(
      'and if another tool has restored a copy, goes %s to an earlier release than the copy’s',
      async (_, isLater) => {
        const [target, good, first, bad] = await harness.newReleasedTarget('x', 'a', 'b');
        target.world.controlPlane.redeployMakesRevision = true;
        const copy = await target.world.redeployElsewhere(first);
        if (isLater) {
          const next = await target.release('c');
          expect(next.baseline).toEqual({ revisionId: copy, verified: true });
          const { serves } = await target.rollback({ serving: next.revisionId ?? '' });
          expect(serves).toMatchObject({ revisionId: copy, release: 'release-2' });
        }
        const { state } = await target.idle();
        const serving = isLater ? (state.activeRevisionId ?? '') : copy;
        const { requestId, serves } = await target.rollback({ serving });
        expect(serves).toMatchObject({ revisionId: good });
        await target.ended(requestId);
        expect(left(await target.idle())).toEqual(expect.arrayContaining([first, bad, serving]));
      },
    );

    it('and no later release restores it, even if there is no other revision: it reports that', async () => {
      const [target, only] = await harness.newReleasedTarget('a');
      const { requestId } = await target.rollback({ serving: only });
      expect(await target.ended(requestId)).toMatchObject({ code: 'SLIPWAY_NOTHING_TO_RESTORE' });
      target.world.bad.add(identity('b'));
      const result = await target.release('b', { overrideHold: true });
      expect(result).toMatchObject({ outcome: 'rollback_failed', servingRevisionId: result.revisionId });
      expect(result.reason).toContain(`revision ${only} served before, but a person rolled back from it`);
      expect(result.instructions).toContain('No earlier revision is known to be good');
      expect(target.world.redeployed).toEqual([]);
    });

    it.each(['update', 'signal'] as const)(
      'and a hold that a person sets by %s meanwhile stays if it changes nothing',
      async (way) => {
        const [target, only] = await harness.newReleasedTarget('a');
        const gate = target.world.gate('findDeployment');
        const looks = target.world.count('findDeployment');
        const { requestId } = await target.rollback({ serving: only });
        await target.world.called('findDeployment', looks + 1);
        const hold = { who: 'bo', reason: 'an incident' };
        if (way === 'update') await target.handle.executeUpdate('hold', { args: [hold] });
        else await target.signal('hold', hold);
        gate.open();
        expect(await target.ended(requestId)).toMatchObject({ code: 'SLIPWAY_NOTHING_TO_RESTORE' });
        expect((await target.idle()).state).toMatchObject({ hold: { by: hold }, ignored: [] });
      },
    );

    it('and the running release does not restore it, even if there is no other revision', async () => {
      const [target, only] = await harness.newReleasedTarget('a');
      const releaseId = await polling(target);
      const { requestId } = await target.rollback({ serving: only });
      const result = await target.result(releaseId);
      expect(result).toMatchObject({ outcome: 'aborted', servingRevisionId: only });
      expect(result.reason).toContain(`revision ${only} serves`);
      expect(await target.ended(requestId)).toMatchObject({ code: 'SLIPWAY_NOTHING_TO_RESTORE' });
      expect(target.world.redeployed).toEqual([]);
    });

    it('and a release that restores it at that moment does not try it again', async () => {
      const [target, good, serving] = await harness.newReleasedTarget('x', 'a');
      target.world.broken.set(serving, 'DEPLOY_FAILED');
      const releaseId = await polling(target);
      target.world.end(target.world.latest ?? '', 'BUILD_FAILED');
      const gate = target.world.gate('redeployRevision');
      await target.world.called('redeployRevision');
      await target.rollback({ serving });
      gate.open();
      expect(await target.result(releaseId)).toMatchObject({
        outcome: 'rolled_back',
        servingRevisionId: good,
      });
      expect(target.world.redeployed).toEqual([serving, good]);
    });
  },
);

/** The revisions that are restored only by name, oldest first. */
function left({ state }: Pick<Awaited<ReturnType<TargetUnderTest['view']>>, 'state'>): string[] {
  return state.known.filter(({ quarantined }) => quarantined === true).map(({ revisionId }) => revisionId);
}
