import { pick } from '@slipway/contract/pick';
import { Context } from '@temporalio/activity';
import { describe, expect, test } from 'vitest';

import type { GuardEnd } from '../../../src/domain/guard/guarding.ts';
import type { GuardMetric, GuardPolicy } from '../../../src/domain/guard/guardPolicy.ts';
import type { GuardInput, GuardResult } from '../../../src/messages/workflowTypes.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { refused } from '../faults.ts';
import { heldIn, waitingFor } from '../moments.ts';
import { identity } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import type { Fault } from '../world.ts';

const ERRORS: GuardMetric = {
  name: 'error_rate',
  source: { kind: 'http', url: 'http://metrics.test/error_rate?from={from}&until={until}', path: 'value' },
  max: 0.05,
};

function guardedBy(changes: Partial<GuardPolicy> = {}): { readonly guard: GuardPolicy } {
  return {
    guard: { forMs: 60_000, everyMs: 1_000, afterMs: 0, noData: 'continue', metrics: [ERRORS], ...changes },
  };
}

/** The guard measures once, so that it cannot find another revision before it ends. */
const ONE_ROUND = { everyMs: 60_000 };

function guardOf(target: TargetUnderTest, releaseId: string): Promise<GuardResult> {
  return target.workflow(`guard:${target.workflowId}/${releaseId}`).result() as Promise<GuardResult>;
}

describeWorkflows('a guard', (harness) => {
  describe('of a released revision', () => {
    test('ends with its time if no metric is worse, and changes nothing', async () => {
      const { target } = harness.newServingTarget();
      const { releaseId, revisionId } = await target.release('b', guardedBy({ forMs: 2_000 }));
      const { report, answer } = await guardOf(target, releaseId);
      expect(report).toMatchObject({ releaseId, verdict: 'passed', note: 'measured last: error_rate 0' });
      expect(answer).toBeNull();
      const { state } = await target.viewOnce(({ state }) => state.guard?.ended !== undefined);
      expect(state.activeRevisionId).toBe(revisionId);
      expect(state.hold).toBeNull();
      expect(state.said.at(-1)).toMatchObject({ message: 'guard', by: { who: 'guard' } });
    });

    test('rolls back as a person does if a metric is worse, names it and its values, and outlasts an outage of days', async () => {
      const { target, good } = harness.newServingTarget();
      target.world.measures = () => 0.12;
      const { releaseId } = await target.release('b', guardedBy());
      const { report } = await guardOf(target, releaseId);
      const breach = { metric: 'error_rate', kind: 'above_max', value: 0.12, limit: 0.05 };
      expect(report).toMatchObject({ verdict: 'worse', breach });
      const { state } = await target.viewOnce(({ state }) => state.history.at(-1)?.kind === 'rollback');
      expect(state.history.at(-1)).toMatchObject({
        kind: 'rollback',
        outcome: 'rolled_back',
        servingRevisionId: good,
        requestedBy: { who: 'guard', reason: 'error_rate 0.12 > 0.05' },
      });
      expect(state.hold?.by.who).toBe('guard');
      expect(state.guard?.ended).toMatchObject({ verdict: 'worse', breach });
      expect(target.world.redeployed).toHaveLength(1);
      const { events } = await target.workflow(`guard:${target.workflowId}/${releaseId}`).fetchHistory();
      const asked = events?.findLast(({ activityTaskScheduledEventAttributes: task }) => task != null);
      const { scheduleToCloseTimeout } = asked?.activityTaskScheduledEventAttributes ?? {};
      expect(Number(scheduleToCloseTimeout?.seconds)).toBeGreaterThan(7 * 86_400);
    });

    test('rolls back on a target that was terminated meanwhile', async () => {
      const { target, good } = harness.newServingTarget();
      const { releaseId } = await target.release('b', guardedBy());
      await new Promise<void>((resolve) => {
        target.world.measures = () => {
          resolve();
          return 0;
        };
      });
      await target.terminate();
      target.world.measures = () => 0.12;
      expect((await guardOf(target, releaseId)).answer).toMatch(/^queued, /);
      const { state } = await target.idle();
      expect(state.history.at(-1)).toMatchObject({ kind: 'rollback', servingRevisionId: good });
      expect(state.guard?.ended).toMatchObject({ verdict: 'worse', breach: { metric: 'error_rate' } });
      expect(state.said.map(({ message }) => message)).toEqual(['guard', 'rollback']);
    });

    test('rolls back on a target that is reset meanwhile, once that has read its earlier state', async () => {
      const { target, good } = harness.newServingTarget();
      const round = target.world.gate('guardRevision');
      const { releaseId } = await target.release('b', guardedBy());
      await target.world.called('guardRevision');
      let goOn = (): void => undefined;
      const reading = new Promise<void>((resolve) => (goOn = resolve));
      const slowly: Fault = (perform) => reading.then(perform);
      // The try in the worker that runs the target, and the attempt after it.
      target.world.next('recallTarget', slowly, slowly);
      await target.reset('last');
      target.world.measures = () => 0.12;
      const asked = new Promise<void>((resolve) => {
        target.world.next('rollBackTarget', (perform) => perform().finally(resolve));
      });
      round.open();
      await asked;
      goOn();
      expect((await guardOf(target, releaseId)).answer).toMatch(/^queued, /);
      const { state } = await target.viewOnce(({ state }) => state.history.at(-1)?.kind === 'rollback');
      expect(state.history.at(-1)).toMatchObject({ kind: 'rollback', servingRevisionId: good });
      expect(state.guard?.ended?.verdict).toBe('worse');
    });

    test('that began again is kept by a target that is reset to a task before that', async () => {
      const { target } = harness.newServingTarget();
      const { releaseId } = await target.release('b', guardedBy({ forMs: 3_600_000 }));
      target.world.bad.add(identity('c'));
      const { gate } = await heldIn('recordRelease', target, 'c');
      await guardOf(target, releaseId);
      const { events } = await target.handle.fetchHistory();
      gate.open();
      await target.viewOnce(({ state, running }) => running === null && state.guard?.ended === undefined);
      const guard = target.workflow(`guard:${target.workflowId}/${releaseId}`);
      const { runId } = await guard.describe();
      await target.resetTo(events?.findLast((event) => event.workflowTaskCompletedEventAttributes)?.eventId);
      await target.idle();
      await target.release('d');
      expect((await guard.describe()).runId).toBe(runId);
    });

    test.each<[GuardEnd['verdict'], (target: TargetUnderTest) => void]>([
      ['passed', () => undefined],
      ['replaced', ({ world }) => world.bringUp(world.patchElsewhere())],
    ])('that ended while its target was terminated is known there as %s', async (verdict, happens) => {
      const { target } = harness.newServingTarget();
      const round = target.world.gate('guardRevision');
      const { releaseId } = await target.release('b', guardedBy({ forMs: 3_000 }));
      await target.world.called('guardRevision');
      await target.terminate();
      target.startWith({});
      happens(target);
      round.open();
      const { report } = await guardOf(target, releaseId);
      expect(report.verdict).toBe(verdict);
      await target.release('c');
      const { state } = await target.idle();
      const { at, note } = report;
      expect(state.guard?.ended).toEqual({ at, verdict, note });
      expect(state.said.map(({ message }) => message)).toEqual(['guard']);
    });

    test('does not hold the target if it is told so', async () => {
      const { target, good } = harness.newServingTarget();
      target.world.measures = () => 1;
      const { releaseId } = await target.release('b', guardedBy({ hold: false }));
      await guardOf(target, releaseId);
      const { state } = await target.viewOnce(
        ({ state, running }) => state.activeRevisionId === good && running === null,
      );
      expect(state.hold).toBeNull();
    });

    test('makes way for the next release, whose own guard begins with its end', async () => {
      const { target } = harness.newServingTarget();
      const first = await target.release('b', guardedBy(ONE_ROUND));
      await target.world.called('guardRevision');
      const second = await target.release('c', guardedBy());
      expect(second.outcome).toBe('released');
      const { report } = await guardOf(target, first.releaseId);
      expect(report.verdict).toBe('preempted');
      const { state } = await target.viewOnce(({ state }) => state.guard?.releaseId === second.releaseId);
      expect(state.guard?.ended).toBeUndefined();
    });

    test('guards on while a release waits for its approval, and stops it by its rollback', async () => {
      const { target, good } = harness.newServingTarget();
      const { releaseId } = await target.release('b', guardedBy());
      const next = await waitingFor('approval', target, 'c', {
        approval: { required: 1, withinMs: 3_600_000 },
      });
      target.world.measures = () => 0.12;
      expect((await guardOf(target, releaseId)).answer).toMatch(/^preempting, /);
      expect(await target.result(next)).toMatchObject({ outcome: 'aborted', revisionId: null });
      const { state } = await target.idle();
      expect(state.history.at(-1)).toMatchObject({ kind: 'rollback', servingRevisionId: good });
    });

    test('guards on after a release that failed before it changed anything', async () => {
      const { target, good } = harness.newServingTarget();
      const { releaseId } = await target.release('b', guardedBy());
      target.world.next('uploadArtifact', refused('SLIPWAY_ARTIFACT_CORRUPT'));
      expect(await target.release('c')).toMatchObject({ outcome: 'failed', revisionId: null });
      target.world.measures = () => 0.12;
      expect((await guardOf(target, releaseId)).answer).toMatch(/^queued, /);
      const { state } = await target.idle();
      expect(state.history.at(-1)).toMatchObject({ kind: 'rollback', servingRevisionId: good });
    });

    test('begins again if a release fails after its PATCH and the guarded revision is restored', async () => {
      const { target, good } = harness.newServingTarget();
      // Only the guard that begins again measures.
      target.world.gate('guardRevision');
      target.world.measures = () => 0.12;
      const { releaseId, revisionId } = await target.release('b', guardedBy(ONE_ROUND));
      await target.world.called('guardRevision');
      target.world.bad.add(identity('c'));
      const failed = await target.release('c');
      expect(failed).toMatchObject({ outcome: 'rolled_back', servingRevisionId: revisionId });
      const { state } = await target.viewOnce(({ state }) => state.history.at(-1)?.kind === 'rollback');
      expect(state.history.at(-1)).toMatchObject({
        kind: 'rollback',
        servingRevisionId: good,
        requestedBy: { who: 'guard', from: `the guard of ${releaseId}` },
      });
      expect(Date.parse(state.guard?.until ?? '')).toBe(Date.parse(failed.endedAt) + 60_000);
    });

    test('begins again after a rollback that changed nothing, but not after its own', async () => {
      const target = harness.newTarget();
      target.world.gate('guardRevision');
      target.world.measures = () => 0.12;
      const { releaseId } = await target.release('b', guardedBy(ONE_ROUND));
      await target.world.called('guardRevision');
      const { requestId } = await target.rollback();
      expect(await target.ended(requestId)).toMatchObject({ outcome: 'failed' });
      const { state } = await target.viewOnce(
        ({ state }) => state.guard?.ended?.verdict === 'worse' && state.history.length === 3,
      );
      expect(state.history.slice(1)).toMatchObject([{ outcome: 'failed' }, { outcome: 'failed' }]);
      expect(state.guard).toMatchObject({ releaseId, changedBy: state.history.at(-1)?.releaseId });
    });

    test('does not begin again if a person goes back to what it guarded', async () => {
      const { target } = harness.newServingTarget();
      const { releaseId, revisionId } = await target.release('b', guardedBy(ONE_ROUND));
      await target.release('c');
      const { requestId } = await target.rollback({ to: revisionId ?? '' });
      await target.ended(requestId);
      const { state } = await target.idle();
      expect(state.activeRevisionId).toBe(revisionId);
      expect(state.guard).toMatchObject({ releaseId, ended: { verdict: 'preempted' } });
    });

    test('that a person canceled in Temporal, tells its target and does not begin again', async () => {
      const { target } = harness.newServingTarget();
      const { releaseId, revisionId } = await target.release('b', guardedBy(ONE_ROUND));
      await target.world.called('guardRevision');
      await target.workflow(`guard:${target.workflowId}/${releaseId}`).cancel();
      await target.viewOnce(({ state }) => state.guard?.ended?.verdict === 'canceled');
      target.world.bad.add(identity('c'));
      const failed = await target.release('c');
      expect(failed).toMatchObject({ outcome: 'rolled_back', servingRevisionId: revisionId });
      const { state } = await target.idle();
      expect(state.guard?.ended?.verdict).toBe('canceled');
    });

    test('that a person canceled while it asked for its rollback, does not begin again', async () => {
      const { target } = harness.newServingTarget();
      target.world.measures = () => 0.12;
      const asked = new Promise<void>((resolve) => {
        target.world.next('rollBackTarget', () => {
          resolve();
          return Context.current().cancelled;
        });
      });
      const { releaseId, revisionId } = await target.release('b', guardedBy());
      await asked;
      await target.workflow(`guard:${target.workflowId}/${releaseId}`).cancel();
      const { report, answer } = await guardOf(target, releaseId);
      expect(report.verdict).toBe('worse');
      expect(answer).toBe('a person canceled it in Temporal');
      await target.viewOnce(({ state }) => state.guard?.ended?.verdict === 'canceled');
      target.world.bad.add(identity('c'));
      const failed = await target.release('c');
      expect(failed).toMatchObject({ outcome: 'rolled_back', servingRevisionId: revisionId });
      const { state } = await target.idle();
      expect(state.history.map(({ kind }) => kind)).toEqual(['release', 'release']);
      expect(state.guard?.ended?.verdict).toBe('canceled');
    });

    test('that a person terminated in Temporal, does not begin again', async () => {
      const { target } = harness.newServingTarget();
      const { releaseId, revisionId } = await target.release('b', guardedBy(ONE_ROUND));
      await target.workflow(`guard:${target.workflowId}/${releaseId}`).terminate('by hand');
      target.world.bad.add(identity('c'));
      const failed = await target.release('c');
      expect(failed).toMatchObject({ outcome: 'rolled_back', servingRevisionId: revisionId });
      const { state } = await target.idle();
      expect(state.guard).toMatchObject({ changedBy: failed.releaseId, ended: { verdict: 'unknown' } });
    });

    test('makes way for a rollback, and begins none of its own', async () => {
      const { target, good } = harness.newServingTarget();
      const { releaseId } = await target.release('b', guardedBy(ONE_ROUND));
      await target.world.called('guardRevision');
      const { requestId } = await target.rollback({ reason: 'a person saw it first' });
      await target.ended(requestId);
      const { report } = await guardOf(target, releaseId);
      expect(report.verdict).toBe('preempted');
      const { state } = await target.idle();
      expect(state.activeRevisionId).toBe(good);
      expect(state.guard).toMatchObject({ releaseId, ended: { verdict: 'preempted' } });
      expect(state.ignored).toEqual([]);
    });

    test('guards on and rolls back if another tool redeploys its revision', async () => {
      const { target, good } = harness.newServingTarget();
      target.world.controlPlane.redeployMakesRevision = true;
      const { releaseId, revisionId } = await target.release('b', guardedBy());
      await target.world.called('guardRevision');
      const copy = await target.world.redeployElsewhere(revisionId ?? '');
      expect(copy).not.toBe(revisionId);
      await target.world.called('guardRevision', target.world.count('guardRevision') + 2);
      target.world.measures = () => 0.12;
      expect((await guardOf(target, releaseId)).answer).toMatch(/^queued, /);
      const { state } = await target.idle();
      expect(state.known.find(({ revisionId: id }) => id === state.activeRevisionId)?.copyOf).toBe(good);
    });

    test('ends if another revision serves than the one it guards', async () => {
      const { target } = harness.newServingTarget();
      const { releaseId } = await target.release('b', guardedBy());
      await target.world.called('guardRevision');
      target.world.measures = () => 1;
      const other = target.world.patchElsewhere();
      target.world.bringUp(other);
      const { report, answer } = await guardOf(target, releaseId);
      if (report.verdict === 'worse') expect(answer).toContain('does not serve any more');
      else expect(report).toMatchObject({ verdict: 'replaced' });
      const { state } = await target.idle();
      expect(state.hold).toBeNull();
      expect(target.world.redeployed).toEqual([]);
    });

    test('asks for nothing that would hit a release that has begun meanwhile', async () => {
      const { target } = harness.newServingTarget();
      const { releaseId, revisionId } = await target.release('b', guardedBy({ afterMs: 60_000 }));
      target.world.slow.add('c');
      const { releaseId: next, gate } = await heldIn('patchDeployment', target, 'c');
      const late = await target.rollback({
        who: 'guard',
        requestId: 'late',
        serving: revisionId ?? '',
        guard: releaseId,
      });
      expect(late).toMatchObject({ disposition: 'ignored', onHold: false });
      expect(late.reason).toContain('has begun since');
      gate.open();
      expect((await target.result(next)).outcome).toBe('released');
    });

    test('goes on after its worker was lost, with the time and the hour before that it had', async () => {
      const { target } = harness.newServingTarget();
      const began = Date.now();
      let before = 0;
      target.world.measures = ({ from }) => {
        if (from < began) before++;
        return 0.01;
      };
      const { max: _, ...unlimited } = ERRORS;
      const metrics = [{ ...unlimited, risesBy: { by: 0.5, isRelative: false } }];
      const policy = guardedBy({ forMs: 4_000, metrics });
      // The second round dies with its worker: Temporal gets no heartbeat of it any more.
      target.world.next('guardRevision', (perform) => perform());
      let endLost: () => void = () => undefined;
      target.world.next('guardRevision', () => new Promise((resolve) => (endLost = () => resolve({}))));
      const { releaseId, endedAt } = await target.release('b', policy);
      const { report } = await guardOf(target, releaseId);
      endLost();
      expect(report.verdict).toBe('passed');
      expect(report.note).toContain('in the hour before');
      expect(before).toBe(1);
      const { state } = await target.viewOnce(({ state }) => state.guard?.ended !== undefined);
      expect(Date.parse(state.guard?.until ?? '')).toBe(Date.parse(endedAt) + 4_000);
    });

    test('whose workers were away until long after its end, judges nothing', async () => {
      const { target } = harness.newServingTarget();
      const { releaseId, revisionId } = await target.release('b');
      target.world.measures = () => 1;
      const { taskQueue } = await target.handle.describe();
      const until = Date.now() - 3_600_000;
      const input: GuardInput = {
        ...{ releaseId, targetId: target.workflowId },
        ...pick(target.request('b'), 'target', 'recordStore'),
        ...{
          deploymentId: target.world.deployment?.id ?? '',
          revisionId: revisionId ?? '',
          policy: guardedBy().guard,
        },
        ...{ since: until - 60_000, until, releasedFrom: until - 60_000 },
      };
      const workflowId = `guard:${target.workflowId}/${releaseId}`;
      const handle = await target.handle.client.start('guard', { workflowId, taskQueue, args: [input] });
      expect(await handle.result()).toMatchObject({
        report: { verdict: 'unknown', note: 'no worker ran until its time was long over' },
        answer: null,
      });
    });
  });
});
