import { expect, it } from 'vitest';

import type { FreezeWindow } from '../../../src/domain/freeze/freeze.ts';
import { readTargetFacts } from '../../../src/temporal/history/readFacts.ts';
import { followedBy, NO_REDEPLOY, refused } from '../faults.ts';
import { identity, stepNames } from '../requests.ts';
import { describePromotions } from './describePromotions.ts';

const BO = { who: 'bo', reason: 'a reason' };
const DAY_MS = 86_400_000;
const FREEZES: readonly FreezeWindow[] = [
  { name: 'weekend', timeZone: 'UTC', from: 'Fri 16:00', until: 'Mon 08:00', then: 'wait' },
];

describePromotions('a promotion', ({ harness, promotions, line }) => {
  it('releases on one target the exact artifact that is verified on the other', async () => {
    const { canary, production } = await line();
    const result = await promotions.promote(canary, production, { soakMs: 1, bakeMs: 50 });
    expect(result).toMatchObject({
      outcome: 'released',
      nothingToDo: false,
      artifact: identity('b'),
      commit: 'c0ffee1',
      releaseId: 'release-1',
    });
    const { revisionId, requestedBy } = await production.ended('release-1');
    expect(production.world.active).toBe(revisionId);
    expect(requestedBy).toMatchObject({ who: 'cy', reason: 'promotion canary-to-production from canary' });
    expect(stepNames(result)).toEqual([
      'candidate done',
      'candidate done',
      'soak done',
      'candidate done',
      'promote done',
      'promote done',
      'candidate done',
      'bake done',
      'record done',
    ]);
    const [, found, , confirmed] = result.steps;
    expect([found?.detail, confirmed?.detail]).toEqual([
      expect.stringMatching(/^\d+ bytes$/),
      expect.stringMatching(/ serves on canary$/),
    ]);
    // It was verified for longer before.
    expect(result.steps.find(({ step }) => step === 'soak')?.subject).toBe('canary');
  });

  it('ends with a reason if the other target runs the artifact already', async () => {
    const { canary, production } = await line();
    await production.release('b');
    const result = await promotions.promote(canary, production, { soakMs: DAY_MS });
    expect(result).toMatchObject({ outcome: 'released', nothingToDo: true, releaseId: null });
    expect(result.reason).toContain('already');
  });

  it('ends at the first check that fails in the soak, and does not touch the other target', async () => {
    const { canary, production } = await line();
    const promotion = await promotions.start(canary, production, { soakMs: DAY_MS });
    await canary.world.called('runCheck', 2);
    canary.world.bad.add(identity('b'));
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_CHECK_FAILED', releaseId: null });
    expect(result.reason).toContain('during the soak on "canary"');
    expect(production.world.count('patchDeployment')).toBe(0);
  });

  it('checks in any number of soak rounds within one activity, so that they cost no history events', async () => {
    const { canary, production } = await line();
    const promotion = await promotions.start(canary, production, { soakMs: DAY_MS, checkEveryMs: 1 });
    await canary.world.called('runCheck', 7);
    await promotion.say('skip', { ...BO, what: 'soak' });
    expect(await promotion.result()).toMatchObject({ outcome: 'released' });
    const { history } = await promotion.history();
    const activities = (history.events ?? []).flatMap(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? [],
    );
    expect(activities.filter((name) => name === 'watchRevision')).toHaveLength(1);
    expect(activities).not.toContain('runCheck');
  });

  it('ends superseded if a person rolls the candidate back in the soak, with the reason', async () => {
    const { canary, production } = await line();
    const promotion = await promotions.start(canary, production, { soakMs: DAY_MS });
    await canary.world.called('runCheck');
    await canary.rollback(BO);
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'superseded' });
    expect(result.reason).toMatch(
      /serves on "canary" instead of the candidate: rollback-3 by bo: a reason$/u,
    );
  });

  it('takes no rollback for a change by hand whose target was terminated before it ended', async () => {
    const { canary, production } = await line();
    await production.release('c');
    const gate = production.world.gate('redeployRevision');
    await production.rollback({ ...BO, hold: false });
    await production.world.called('redeployRevision');
    await production.terminate();
    gate.open();
    await production.child('rollback-2').result();
    expect(await promotions.promote(canary, production)).toMatchObject({ outcome: 'released' });
  });

  it('waits for the required approvals, and accepts none from the releaser or the promoter', async () => {
    const { canary, production } = await line();
    const approval = { required: 1, withinMs: 3_600_000 };
    const promotion = await promotions.start(canary, production, { approval });
    await promotion.waitsFor('approval');
    for (const who of ['ada', 'cy']) {
      await expect(promotion.say('approve', { who })).rejects.toMatchObject({
        cause: { message: expect.stringContaining('cannot approve it') as string },
      });
    }
    expect(production.world.count('patchDeployment')).toBe(0);
    await promotion.say('approve', BO);
    expect(await promotion.result()).toMatchObject({ outcome: 'released' });
  });

  it('continues without its approvals at their deadline, if that is the default', async () => {
    const { canary, production } = await line();
    const approval = { required: 1, withinMs: 20, otherwise: 'approve' } as const;
    const result = await promotions.promote(canary, production, { approval });
    expect(result).toMatchObject({ outcome: 'released' });
  });

  it('waits for the end of a freeze, ends if one rejects, and continues on a person’s override', async () => {
    const { canary, production } = await line();
    const frozen = { name: 'weekend', timeZone: 'UTC', until: Date.now() + DAY_MS };
    production.world.frozen = { ...frozen, then: 'refuse' };
    const refused = await promotions.promote(canary, production, { freezes: FREEZES });
    expect(refused).toMatchObject({ outcome: 'aborted' });
    expect(refused.reason).toContain('frozen by "weekend"');
    production.world.frozen = { ...frozen, then: 'wait' };
    const promotion = await promotions.start(canary, production, { freezes: FREEZES });
    await promotion.waitsFor('freeze');
    await promotion.say('skip', { ...BO, what: 'freeze' });
    expect(await promotion.result()).toMatchObject({ outcome: 'released' });
    expect(JSON.stringify(await production.steps('release-1'))).toContain(', overridden by bo"');
  });

  it('stops and asks if the other target was changed by hand meanwhile', async () => {
    const { canary, production } = await line();
    const approval = { required: 1, withinMs: 3_600_000 };
    const promotion = await promotions.start(canary, production, { approval });
    await promotion.waitsFor('approval');
    production.world.bringUp(production.world.patchElsewhere());
    await promotion.say('approve', BO);
    const { waiting } = await promotion.waitsFor('decision');
    expect(waiting?.note).toContain('was changed by hand');
    expect(production.world.count('patchDeployment')).toBe(0);
    await promotion.say('retry', BO);
    expect(await promotion.result()).toMatchObject({ outcome: 'released' });
  });

  it('reads again after a person’s decision, and ends superseded if its candidate was rolled back meanwhile', async () => {
    const { canary, production } = await line();
    const approval = { required: 1, withinMs: 3_600_000 };
    const promotion = await promotions.start(canary, production, { approval });
    await promotion.waitsFor('approval');
    production.world.bringUp(production.world.patchElsewhere());
    await promotion.say('approve', BO);
    await promotion.waitsFor('decision');
    await canary.rollback(BO);
    await promotion.say('retry', BO);
    expect(await promotion.result()).toMatchObject({ outcome: 'superseded', releaseId: null });
    expect(production.world.count('patchDeployment')).toBe(0);
  });

  it('never replaces a release that ran on the other target at its final check', async () => {
    const { canary, production } = await line();
    production.world.slow.add(identity('c'));
    const { releaseId } = await production.submit('c');
    const { revisionId } = await production.world
      .called('awaitDeployed')
      .then(() => production.progressOnce(releaseId, (progress) => progress.revisionId !== null));
    const promotion = await promotions.start(canary, production);
    await promotion.progressOnce(({ steps }) => steps.some(({ subject }) => subject === 'release-2'));
    production.world.bringUp(revisionId ?? '');
    expect(await production.result(releaseId)).toMatchObject({ outcome: 'released' });
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'superseded', releaseId: 'release-2' });
    expect(production.world.active).toBe(revisionId);
    expect(production.world.count('patchDeployment')).toBe(1);
  });

  it('whose revision is rolled back during its bake reports by whom', async () => {
    const { canary, production } = await line();
    const promotion = await promotions.start(canary, production, { bakeMs: DAY_MS });
    await promotion.progressOnce(({ steps }) => steps.some(({ step }) => step === 'bake'));
    await production.rollback(BO);
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'superseded', code: 'SLIPWAY_REVISION_REPLACED' });
    expect(result.reason).toMatch(
      /serves on "production" instead of the promoted one: rollback-2 by bo: a reason$/u,
    );
  });

  it('whose deployment is deleted during its bake needs a person: nothing has replaced its revision', async () => {
    const { canary, production } = await line();
    const promotion = await promotions.start(canary, production, { bakeMs: DAY_MS });
    await promotion.progressOnce(({ steps }) => steps.some(({ step }) => step === 'bake'));
    production.world.controlPlane.deployments.length = 0;
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'rollback_failed', code: 'SLIPWAY_NOT_FOUND' });
    expect(result.reason).toContain('there is no deployment "agent"');
  });

  it('bakes its release even if its source target cannot be read any more', async () => {
    const { canary, production } = await line();
    const promoted = (perform: () => Promise<unknown>): Promise<unknown> => perform();
    const gone = Array.from({ length: 4 }, () => refused('SLIPWAY_UNAUTHORIZED', 401));
    // The candidate is chosen, and confirmed. Then the key of its target is revoked.
    canary.world.next('findDeployment', promoted, promoted, ...gone);
    const result = await promotions.promote(canary, production, { bakeMs: 50 });
    expect(result).toMatchObject({ outcome: 'released', releaseId: 'release-1' });
    expect((await production.view()).state.hold).toBeNull();
  });

  it('whose revision is rolled back before its bake reports by whom', async () => {
    const { canary, production } = await line();
    const plain = (perform: () => Promise<unknown>): Promise<unknown> => perform();
    // The candidate is chosen and confirmed, and the release finds its deployment.
    production.world.next('findDeployment', plain, plain, plain, async (perform) => {
      const { requestId } = await production.rollback(BO);
      await production.ended(requestId);
      return perform();
    });
    const result = await promotions.promote(canary, production, { bakeMs: DAY_MS });
    expect(result).toMatchObject({ outcome: 'superseded', code: 'SLIPWAY_REVISION_REPLACED' });
    expect(result.reason).toMatch(
      /serves on "production" instead of the promoted one: rollback-2 by bo: a reason$/u,
    );
  });

  it('that is stopped in its bake leaves a later release in place', async () => {
    const { canary, production } = await line();
    const promotion = await promotions.start(canary, production, {
      bakeMs: DAY_MS,
      checkEveryMs: DAY_MS,
    });
    await promotion.progressOnce(({ steps }) => steps.some(({ step }) => step === 'bake'));
    const { revisionId } = await production.release('c');
    await promotion.say('abort', BO);
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'superseded', releaseId: 'release-1' });
    expect(production.world.active).toBe(revisionId);
    expect((await production.view()).state.hold).toBeNull();
  });

  it('rolls back through the target what fails in the bake, and blocks the target', async () => {
    const { canary, production } = await line();
    const good = production.world.active;
    // After the baseline's check and the release's own.
    const turnsBad = followedBy(({ bad }) => bad.add(identity('b')));
    production.world.next('runCheck', (perform) => perform(), turnsBad);
    const result = await promotions.promote(canary, production, { bakeMs: DAY_MS });
    expect(result).toMatchObject({ outcome: 'rolled_back', code: 'SLIPWAY_CHECK_FAILED' });
    expect(production.world.active).toBe(good);
    expect((await production.view()).state.hold).toMatchObject({ by: { who: 'slipway' } });
    const next = await promotions.promote(canary, production);
    expect(next).toMatchObject({ outcome: 'rejected' });
    expect(next.reason).toContain('promotions that lead to "production" are stopped');
  });

  it('blocks the target if the release itself is bad', async () => {
    const { canary, production } = await line();
    production.world.bad.add(identity('b'));
    const result = await promotions.promote(canary, production);
    expect(result).toMatchObject({ outcome: 'rolled_back', releaseId: 'release-1' });
    const { state } = await production.viewOnce((view) => view.state.hold !== null);
    expect(state.hold?.by.from).toBe('promotion canary-to-production');
  });

  it('that needs a person ends Failed in Temporal, with its result in its failure', async () => {
    const { canary, production } = await line();
    production.world.bad.add(identity('b'));
    production.world.next('redeployRevision', ...NO_REDEPLOY);
    const promotion = await promotions.start(canary, production);
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'rollback_failed', releaseId: 'release-1' });
    const ended = await promotion.history();
    expect(ended.history.events?.at(-1)?.workflowExecutionFailedEventAttributes?.failure).toMatchObject({
      message: result.reason,
      applicationFailureInfo: { type: 'rollback_failed', nonRetryable: true },
    });
    expect(readTargetFacts(production.workflowId, [ended]).promotions).toMatchObject([{ result }]);
  });

  it('that needs a person fails the scheduled run that started it', async () => {
    const { canary, production } = await line();
    production.world.bad.add(identity('b'));
    production.world.next('redeployRevision', ...NO_REDEPLOY);
    const turn = await promotions.turn(canary, production).catch((error: unknown) => error);
    expect(turn).toMatchObject({ cause: { cause: { type: 'rollback_failed' } } });
  });

  it('does not start if a later target of the chain is on hold', async () => {
    const { canary, production } = await line();
    const [last] = await harness.newReleasedTarget('a');
    await last.handle.executeUpdate('hold', { args: [BO] });
    const downstream = [{ ...last.request('any').target, name: 'last' }];
    const result = await promotions.promote(canary, production, { downstream });
    expect(result).toMatchObject({ outcome: 'rejected' });
    expect(result.reason).toContain('promotions that lead to "last" are stopped');
  });

  it('that is stopped while the release runs makes the target restore the earlier revision', async () => {
    const { canary, production } = await line();
    const good = production.world.active;
    production.world.slow.add(identity('b'));
    const promotion = await promotions.start(canary, production);
    await production.world.called('awaitDeployed');
    await promotion.progressOnce(({ steps }) => steps.some(({ subject }) => subject === 'release-1'));
    await promotion.say('abort', BO);
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'aborted' });
    expect(result.reason).toContain('aborted by bo: a reason');
    expect(await production.ended('release-1')).toMatchObject({ outcome: 'aborted' });
    expect(production.world.active).toBe(good);
  });

  it('does not start if no worker ran until it was too late for its schedule', async () => {
    const { canary, production } = await line();
    const schedule = {
      everyMs: DAY_MS,
      timeZone: 'UTC',
      jitterMs: 0,
      overlap: 'skip',
      catchUpMs: 10,
    } as const;
    const turn = await promotions.turn(canary, production, { schedule, startDelay: 50 });
    expect(turn).toContain('missed: no worker ran for');
    expect(production.world.count('patchDeployment')).toBe(0);
  });

  it('of one name runs once at a time, even if its time comes again', async () => {
    const { canary, production } = await line();
    const promotion = await promotions.start(canary, production, { soakMs: DAY_MS });
    await canary.world.called('runCheck');
    expect(await promotions.turn(canary, production)).toContain('already running');
    await promotion.say('skip', { ...BO, what: 'soak' });
    await promotion.result();
    expect(await promotions.turn(canary, production)).toContain('runs');
  });
});
