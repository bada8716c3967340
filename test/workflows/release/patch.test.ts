import { describe, expect, it } from 'vitest';

import { describeWorkflows } from '../describeWorkflows.ts';
import {
  followedBy,
  landsLate,
  notTaken,
  readsLag,
  refused,
  unansweredAndLost,
  unansweredButTaken,
} from '../faults.ts';
import { identity, QUICK, tarball } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import type { World } from '../world.ts';

describeWorkflows('a request that changes the deployment', (harness) => {
  describe('a PATCH', () => {
    it('that was certainly not taken is sent again', async () => {
      const { target } = harness.newServingTarget();
      target.world.next('patchDeployment', notTaken());
      const result = await target.release('b');
      expect(result).toMatchObject({ outcome: 'released' });
      expect(result.steps.find(({ step }) => step === 'patch')?.attempts).toBe(2);
      expect(target.world.revisionsOf(tarball('b'))).toHaveLength(1);
    });

    it('is not sent again if a person resets the release in Temporal', async () => {
      const { target } = harness.newServingTarget();
      const { releaseId } = await target.release('b');
      await target.reset('first', releaseId);
      const again = await target.result(releaseId);
      expect(again).toMatchObject({ outcome: 'rollback_failed', code: 'SLIPWAY_OUTCOME_UNKNOWN' });
      expect(again.reason).toContain('was reset in Temporal');
      expect(target.world.count('patchDeployment')).toBe(1);
      expect(target.world.count('redeployRevision')).toBe(0);
    });

    it('that is under way while a person resets the release in Temporal makes one revision', async () => {
      const { target } = harness.newServingTarget();
      let answer = (): void => undefined;
      const answered = new Promise<void>((resolve) => (answer = resolve));
      target.world.next('patchDeployment', async (perform) => {
        const result = await perform();
        await answered;
        return result;
      });
      const { releaseId } = await target.submit('b');
      await target.world.called('patchDeployment');
      // The reset point comes after the task that asked for the PATCH.
      await target.child(releaseId).signal('resume');
      await target.progressOnce(releaseId, ({ interventions }) => interventions.length > 0);
      await target.reset('last', releaseId);
      // Temporal repeats the request for the new run.
      await target.world.called('patchDeployment', 2);
      answer();
      await target.result(releaseId);
      expect(target.world.revisionsOf(tarball('b'))).toHaveLength(1);
    });

    it.each([
      ['a 429 requires', 400, 30],
      ['its own pause, if a 429 requires less', 30, 400],
    ])('is sent again no sooner than %s', async (_, askedMs, initialIntervalMs) => {
      const { target } = harness.newServingTarget();
      target.world.next('patchDeployment', notTaken('SLIPWAY_RATE_LIMITED', askedMs));
      const steps = { ...QUICK, patch: { ...QUICK.patch, retry: { initialIntervalMs } } };
      await target.release('b', { steps });
      const [first, second] = target.world.calls.filter(({ activity }) => activity === 'patchDeployment');
      expect((second?.startedAt ?? 0) - (first?.endedAt ?? 0)).toBeGreaterThan(350);
    });

    it('that waits to be sent again says why, and until when others follow', async () => {
      const { target } = harness.newServingTarget();
      target.world.next('patchDeployment', notTaken('SLIPWAY_RATE_LIMITED', 3_600_000));
      const { releaseId } = await target.submit('b');
      const { steps, found } = await target.progressOnce(releaseId, (seen) => seen.found !== undefined);
      expect(steps.at(-1)).toMatchObject({ step: 'patch', status: 'running' });
      expect(found?.says).toBe('the world says SLIPWAY_RATE_LIMITED');
      expect(Date.parse(found?.until ?? '')).toBeGreaterThan(Date.now());
      await target.say(releaseId, 'abort', { who: 'ada' });
      expect((await target.result(releaseId)).outcome).toBe('aborted');
    });

    it('that a 429 delays past the deadline of the step gets one more attempt before it', async () => {
      const { target, good } = harness.newServingTarget();
      const later = notTaken('SLIPWAY_RATE_LIMITED', 3_600_000);
      target.world.next('patchDeployment', later, later);
      const steps = { ...QUICK, patch: { ...QUICK.patch, scheduleToCloseMs: 8_000 } };
      const result = await target.release('b', { steps });
      expect(result.steps.find(({ step }) => step === 'patch')?.attempts).toBe(2);
      expect(result).toMatchObject({
        outcome: 'failed',
        code: 'SLIPWAY_RATE_LIMITED',
        servingRevisionId: good,
      });
      expect(target.world.redeployed).toEqual([]);
    });

    it('that is rejected each time ends failed, with every attempt counted', async () => {
      const { target } = harness.newServingTarget();
      target.world.next('patchDeployment', notTaken(), notTaken(), notTaken());
      const result = await target.release('b');
      expect(result).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_UNREACHABLE' });
      expect(result.steps.find(({ step }) => step === 'patch')?.attempts).toBe(3);
      expect(target.world.redeployed).toEqual([]);
    });

    it('that reads show only later than the first delay is adopted and never sent again', async () => {
      const { target, good, world } = harness.newServingTarget();
      world.next('patchDeployment', (perform, by) => {
        readsLag(by, good, 1_500);
        return unansweredButTaken(perform, by);
      });
      const patch = { ...QUICK.patch, retry: { initialIntervalMs: 400, maximumAttempts: 3 } };
      const result = await target.release('b', { steps: { ...QUICK, patch } });
      expect(result).toMatchObject({ outcome: 'released', extraRevisionIds: [] });
      expect(result.steps.find(({ step }) => step === 'patch')?.detail).toBe(
        `adopted revision ${result.revisionId}`,
      );
      expect(world.count('patchDeployment')).toBe(1);
    });

    it('is not sent a third time, after an unknown and a rejected attempt, without another read', async () => {
      const { target } = harness.newServingTarget();
      target.world.next(
        'patchDeployment',
        landsLate((world) => world.called('patchDeployment', 2)),
        notTaken(),
      );
      const result = await target.release('b');
      expect(target.world.count('patchDeployment')).toBe(2);
      expect(target.world.revisionsOf(tarball('b'))).toEqual([result.revisionId]);
      expect(result.outcome).toBe('released');
    });

    it('that is rejected only after an unknown attempt may have been taken: the baseline is restored', async () => {
      const { target, good } = harness.newServingTarget();
      target.world.next('patchDeployment', unansweredAndLost, refused());
      const result = await target.release('b');
      expect(result).toMatchObject({
        outcome: 'rolled_back',
        code: 'SLIPWAY_REFUSED',
        servingRevisionId: good,
      });
      expect(target.world.redeployed).toEqual([good]);
    });

    it('that is never answered and never lands restores the baseline', async () => {
      const { target, good } = harness.newServingTarget();
      target.world.next('patchDeployment', unansweredAndLost, unansweredAndLost, unansweredAndLost);
      const result = await target.release('b');
      expect(result).toMatchObject({
        outcome: 'rolled_back',
        code: 'SLIPWAY_NO_ANSWER',
        revisionId: null,
        servingRevisionId: good,
      });
      expect(target.world.count('patchDeployment')).toBe(3);
    });

    it('that lands only while the baseline is restored is reported, watched, and not mistaken for the redeploy', async () => {
      const { target, good } = harness.newServingTarget();
      target.world.slow.add(identity('b'));
      let land: () => Promise<unknown> = () => Promise.resolve();
      target.world.next('patchDeployment', unansweredAndLost, unansweredAndLost, (perform, world) => {
        land = perform;
        return unansweredAndLost(perform, world);
      });
      // It takes effect before the redeploy is answered, so the answer names it as the latest revision.
      target.world.next('redeployRevision', async (perform) => {
        await land();
        return perform();
      });
      const result = await target.release('b');
      const [extra] = target.world.revisionsOf(tarball('b'));
      expect(result).toMatchObject({
        outcome: 'rolled_back',
        servingRevisionId: good,
        extraRevisionIds: [extra],
        givenUpRevisionIds: [extra],
      });
      expect((await target.view()).state.late).toMatchObject([{ revisionId: extra, restoreTo: good }]);
    });

    it('that is answered, and delivered a second time, leaves an extra revision that is reported and watched', async () => {
      const { target } = harness.newServingTarget();
      target.world.next('patchDeployment', async (perform) => {
        const answer = await perform();
        await perform();
        return answer;
      });
      const result = await target.release('b');
      const [revisionId, extra] = target.world.revisionsOf(tarball('b'));
      expect(result).toMatchObject({ outcome: 'released', revisionId, extraRevisionIds: [extra] });
      const { state } = await target.viewOnce((view) => view.state.late.length > 0);
      expect(state.late).toMatchObject([{ revisionId: extra, restoreTo: revisionId }]);
      expect(state.extras).toMatchObject([{ revisionId: extra, landedLate: false }]);
    });

    describe('that lands after its release has ended', () => {
      /** A release that stopped waiting for its PATCH. The PATCH takes effect at a call of the given activity. */
      async function givenUp(
        target: TargetUnderTest,
        ...landsAt: Parameters<World['called']>
      ): Promise<void> {
        target.world.slow.add(identity('b'));
        const late = landsLate((world) => world.called(...landsAt));
        target.world.next('patchDeployment', late, unansweredAndLost, unansweredAndLost);
        expect((await target.release('b')).outcome).toBe('rolled_back');
      }

      it('is detected, reported, and countered with what serves when it becomes active', async () => {
        const { target, good } = harness.newServingTarget();
        await givenUp(target, 'awaitLateUpload');
        const { state } = await target.viewOnce((view) => view.state.late.length > 0);
        const [landed] = target.world.revisionsOf(tarball('b'));
        expect(state.extras).toMatchObject([
          { releaseId: 'release-1', revisionId: landed, landedLate: true },
        ]);
        expect(state.late).toMatchObject([{ revisionId: landed, restoreTo: good }]);
        target.world.bringUp(landed!);
        const ended = await target.viewOnce((view) => view.state.history.length === 2);
        expect(ended.state.history[1]).toMatchObject({
          kind: 'rollback',
          outcome: 'rolled_back',
          servingRevisionId: good,
          requestedBy: { who: 'slipway', from: 'watch' },
        });
        expect(target.world.active).toBe(good);
      });

      it('while another release runs is detected after that, and countered with the revision that serves then', async () => {
        const { target } = harness.newServingTarget();
        await givenUp(target, 'uploadArtifact', 2);
        const { revisionId } = await target.release('c');
        const [landed] = target.world.revisionsOf(tarball('b'));
        await target.viewOnce((view) => view.state.late.some((late) => late.revisionId === landed));
        target.world.bringUp(landed!);
        await target.viewOnce((view) => view.state.history.length === 3);
        expect(target.world.active).toBe(revisionId);
      });

      it('is distinguished from a redeployed copy of the release’s own revision', async () => {
        const { target, good } = harness.newServingTarget();
        target.world.controlPlane.redeployMakesRevision = true;
        target.world.bad.add(identity('b'));
        target.world.next('patchDeployment', unansweredButTaken);
        const { revisionId } = await target.release('b');
        target.world.bad.clear();
        const { requestId } = await target.rollback({ to: revisionId ?? '' });
        expect((await target.ended(requestId)).servingRevisionId).not.toBe(good);
        await target.world.called('awaitLateUpload', 2);
        expect(target.world.revisionsOf(tarball('b'))).toHaveLength(2);
        const { state } = await target.idle();
        expect([state.extras, state.late]).toEqual([[], []]);
        expect(state.lateUploads[0]?.known).toEqual(
          expect.arrayContaining(target.world.revisionsOf(tarball('b'))),
        );
      });

      it('is watched for until a deadline', async () => {
        const { target } = harness.newServingTarget();
        const steps = { ...QUICK, watch: { ...QUICK.watch, scheduleToCloseMs: 1_000 } };
        target.world.next('patchDeployment', unansweredAndLost, unansweredAndLost, unansweredAndLost);
        await target.release('b', { steps });
        const { state } = await target.viewOnce((view) => view.state.lateUploads.length === 0);
        expect(state.ignored).toEqual([]);
      });

      it('beyond the limit of watches is listed among the ignored', async () => {
        const { target } = harness.newServingTarget();
        target.world.next('awaitLateUpload', refused('SLIPWAY_UNAUTHORIZED', 401));
        target.world.next('patchDeployment', unansweredAndLost, unansweredAndLost, unansweredAndLost);
        await target.release('b');
        const { state } = await target.viewOnce((view) => view.state.ignored.length > 0);
        expect(state.lateUploads).toEqual([]);
        expect(state.ignored[0]).toMatchObject({ message: 'watch' });
        expect(state.ignored[0]?.reason).toContain('stopped watching for a late PATCH of release-1: ');
      });
    });

    it('followed immediately by another client’s PATCH is followed by its own revision', async () => {
      const { target } = harness.newServingTarget();
      target.world.next(
        'patchDeployment',
        followedBy((world) => void world.patchElsewhere()),
      );
      const result = await target.release('b');
      expect(result).toMatchObject({
        outcome: 'released',
        revisionId: target.world.revisionsOf(tarball('b'))[0],
      });
    });

    it('that was answered is never sent again, even if its revision stays invisible for long', async () => {
      const { target, good } = harness.newServingTarget();
      target.world.next('patchDeployment', (_, world) => world.readDeployment());
      const result = await target.release('b');
      expect(target.world.count('patchDeployment')).toBe(1);
      expect(result).toMatchObject({
        outcome: 'errored',
        code: 'SLIPWAY_OUTCOME_UNKNOWN',
        servingRevisionId: good,
      });
      expect(result.instructions).toContain('needs a person');
    });

    it('that was answered is never sent again, if the deployment cannot be read afterwards', async () => {
      const { target } = harness.newServingTarget();
      target.world.next('patchDeployment', async (perform, world) => {
        await perform();
        world.patchElsewhere();
        return world.readDeployment();
      });
      target.world.next('readDeployment', refused('SLIPWAY_UNAUTHORIZED', 401));
      const result = await target.release('b');
      expect(target.world.count('patchDeployment')).toBe(1);
      expect(result).toMatchObject({ outcome: 'errored', code: 'SLIPWAY_OUTCOME_UNKNOWN' });
    });
  });
});
