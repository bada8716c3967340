import { setTimeout } from 'node:timers/promises';

import { Context } from '@temporalio/activity';
import { expect, it } from 'vitest';

import type { PromotionRequest } from '../../../src/domain/promotion/promotion.ts';
import { readTargetFacts } from '../../../src/temporal/history/readFacts.ts';
import { followedBy, NO_REDEPLOY, refused } from '../faults.ts';
import { polling, resetHoldingRecall, waitingFor } from '../moments.ts';
import { identity } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import { failure } from '../failures.ts';
import { describePromotions } from './describePromotions.ts';
import { promotionRequest } from './promotionsUnderTest.ts';

const BO = { who: 'bo', reason: 'a reason' };
const DAY_MS = 86_400_000;

describePromotions('a promotion’s submission', ({ harness, promotions, line }) => {
  it('whose answer is lost while its release fails is answered again: the release is made once', async () => {
    const { canary, production } = await line();
    production.world.bad.add(identity('b'));
    loseAnswer(production, () => production.ended('release-1'));
    const result = await promotions.promote(canary, production);
    expect(result).toMatchObject({ outcome: 'rolled_back', releaseId: 'release-1' });
    expect(await releasesOf(production)).toEqual(['release-1 rolled_back']);
  });

  it('is answered again even if the source target cannot be read any more', async () => {
    const { canary, production } = await line();
    loseAnswer(production, async () => {
      await production.ended('release-1');
      canary.world.next('findDeployment', refused('SLIPWAY_UNAUTHORIZED', 401));
    });
    const result = await promotions.promote(canary, production);
    expect(result).toMatchObject({ outcome: 'released', releaseId: 'release-1' });
  });

  it('is answered again by the target’s next run, too', async () => {
    const { canary } = await line();
    const { target: production } = harness.newServingTarget({ continueAsNewAfterEvents: 20 });
    await production.startOnly();
    production.world.bad.add(identity('b'));
    loseAnswer(production, async () => {
      await production.ended('release-1');
      await production.carriedOn(BO);
    });
    const result = await promotions.promote(canary, production);
    expect(result).toMatchObject({ outcome: 'rolled_back', releaseId: 'release-1' });
    expect(await releasesOf(production)).toEqual(['release-1 rolled_back']);
  });

  it('that meets a target which has just been reset is taken once that has read its earlier state', async () => {
    const { canary, production } = await line();
    await production.startOnly();
    production.world.next('submitToTarget', async (perform) => {
      const goOn = await resetHoldingRecall(production, 'last');
      return perform().finally(goOn);
    });
    const promoted = promotions.promote(canary, production);
    expect(await promoted).toMatchObject({ outcome: 'released', releaseId: 'release-1' });
    expect(await releasesOf(production)).toEqual(['release-1 released']);
  });

  it('is followed to its end even if the target is terminated meanwhile', async () => {
    const { canary, production } = await line();
    const gate = production.world.gate('runCheck');
    const promotion = await promotions.start(canary, production, shortAttempts(production));
    await production.world.called('runCheck');
    await production.terminate();
    gate.open();
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'aborted', releaseId: 'release-1' });
    expect(await releasesOf(production)).toEqual(['release-1 aborted']);
  });

  it('is withdrawn by a promotion that was reset after it was sent', async () => {
    const { canary, production } = await line();
    const good = production.world.active;
    const gate = production.world.gate('runCheck');
    const promotion = await promotions.start(canary, production);
    await promotion.progressOnce(({ steps }) => steps.at(-1)?.subject === 'release-1');
    await production.world.called('runCheck');
    await promotion.reset();
    await promotion.say('abort', BO);
    const result = await promotion.result();
    gate.open();
    expect(result).toMatchObject({ outcome: 'aborted', releaseId: 'release-1' });
    expect(result.reason).toContain('release-1 on "production" ended');
    expect(production.world.active).toBe(good);
  });

  it('is withdrawn by a promotion that was reset before it was sent, and again after it', async () => {
    const { canary, production } = await line();
    const good = production.world.active;
    const gate = production.world.gate('runCheck');
    const promotion = await promotions.start(canary, production);
    await production.world.called('runCheck');
    for (const called of ['submitToTarget', 'awaitRelease']) {
      await promotion.reset(called);
      await promotion.progressOnce(({ steps }) => steps.at(-1)?.subject === 'release-1');
    }
    await promotion.say('abort', BO);
    const ended = promotion.result();
    expect(await production.ended('release-1')).toMatchObject({ outcome: 'aborted' });
    gate.open();
    expect(await ended).toMatchObject({ outcome: 'aborted', releaseId: 'release-1' });
    expect(production.world.active).toBe(good);
    const { submissions } = readTargetFacts(production.workflowId, await production.histories());
    expect(submissions.filter(({ withdrawnAt }) => withdrawnAt === null)).toEqual([]);
  });

  it('is withdrawn by a promotion that was reset to its begin, and is aborted before it submits again', async () => {
    const { canary, production } = await line();
    const gate = production.world.gate('runCheck');
    const approval = { required: 1, withinMs: 60_000 };
    const promotion = await promotions.start(canary, production, { approval });
    await promotion.waitsFor('approval');
    await promotion.say('approve', BO);
    await production.world.called('runCheck');
    await promotion.reset('lookAtLine');
    await promotion.waitsFor('approval');
    await promotion.say('abort', BO);
    const result = await promotion.result();
    gate.open();
    expect(result).toMatchObject({ outcome: 'aborted', releaseId: 'release-1' });
    expect(result.reason).toContain('release-1 on "production" ended aborted');
    expect(await releasesOf(production)).toEqual(['release-1 aborted']);
  });

  it.each(['released', 'aborted'] as const)(
    'is joined by a promotion that was reset to before it was sent: %s',
    async (outcome) => {
      const { canary, production } = await line();
      const gate = production.world.gate('runCheck');
      const promotion = await promotions.start(canary, production);
      await production.world.called('runCheck');
      await promotion.reset('submitToTarget');
      await promotion.progressOnce(({ steps }) => steps.at(-1)?.subject?.startsWith('release-') === true);
      if (outcome === 'aborted') await promotion.say('abort', BO);
      else gate.open();
      expect(await promotion.result()).toMatchObject({ outcome, releaseId: 'release-1' });
      gate.open();
      expect(await releasesOf(production)).toEqual([`release-1 ${outcome}`]);
    },
  );

  it('aborted before its answer arrives reports what its release did, and rolls it back', async () => {
    const { canary, production } = await line();
    const good = production.world.active;
    const answer = holdAnswer(production);
    const promotion = await promotions.start(canary, production);
    expect(await production.ended('release-1')).toMatchObject({ outcome: 'released' });
    await promotion.say('abort', BO);
    const result = await promotion.result();
    answer.open();
    expect(result).toMatchObject({ outcome: 'aborted', releaseId: 'release-1' });
    expect(result.reason).not.toContain('was not changed');
    expect(production.world.active).toBe(good);
  });

  it('that is taken back in its bake is taken back also if an aborted release restores the earlier revision', async () => {
    const { canary, production } = await line();
    const good = production.world.active;
    const bake = { bakeMs: 86_400_000, checkEveryMs: 86_400_000 };
    const promotion = await promotions.start(canary, production, bake);
    await promotion.progressOnce(({ steps }) => steps.some(({ step }) => step === 'bake'));
    const releaseId = await polling(production, 'c');
    let ask = (): void => undefined;
    const asked = new Promise<void>((resolve) => (ask = resolve));
    production.world.next('redeployRevision', async (perform, world) => {
      await asked;
      return refused()(perform, world);
    });
    await production.say(releaseId, 'abort', BO);
    await production.world.called('redeployRevision');
    await promotion.say('abort', BO);
    await production.viewOnce(({ state }) => state.rollbacks.length > 0);
    ask();
    expect(await promotion.result()).toMatchObject({ outcome: 'aborted' });
    expect(await production.result(releaseId)).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
  });

  it('aborted while its release runs stops it, even if its answer has not arrived', async () => {
    const { canary, production } = await line();
    const good = production.world.active;
    production.world.slow.add(identity('b'));
    const answer = holdAnswer(production);
    const promotion = await promotions.start(canary, production);
    await production.world.called('awaitDeployed');
    await promotion.say('abort', BO);
    const result = await promotion.result();
    answer.open();
    expect(result).toMatchObject({ outcome: 'aborted', releaseId: 'release-1' });
    expect(await production.ended('release-1')).toMatchObject({ outcome: 'aborted' });
    expect(production.world.active).toBe(good);
  });

  it('aborted before it reaches the target never becomes a release', async () => {
    const { canary, production } = await line();
    const arrival = hold();
    const arrived = hold();
    production.world.next('submitToTarget', async (perform) => {
      await arrival.held();
      const answered = await perform();
      arrived.open();
      return answered;
    });
    const promotion = await promotions.start(canary, production);
    await promotion.progressOnce(({ steps }) => steps.at(-1)?.step === 'promote');
    await promotion.say('abort', BO);
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'aborted', releaseId: null });
    expect(result.reason).toContain('"production" was not changed');
    arrival.open();
    await arrived.opened;
    await production.idle();
    expect(await releasesOf(production)).toEqual(['release-1 aborted']);
    expect(production.world.count('findDeployment')).toBe(2);
    expect(production.world.count('patchDeployment')).toBe(0);
  });

  it('aborted, ends like its release if that needs a person', async () => {
    const { canary, production } = await line();
    production.world.slow.add(identity('b'));
    production.world.next('redeployRevision', ...NO_REDEPLOY);
    const promotion = await promotions.start(canary, production);
    await production.world.called('awaitDeployed');
    await promotion.say('abort', BO);
    const result = await promotion.result();
    const row = await production.ended('release-1');
    expect(row.outcome).toBe('rollback_failed');
    expect(result).toMatchObject({ outcome: 'rollback_failed', releaseId: 'release-1' });
    expect(result.reason).toContain(row.reason);
  });

  it('is not taken back for a check that a person skipped in its release', async () => {
    const { canary, production } = await line();
    const gate = production.world.gate('uploadArtifact');
    const promotion = await promotions.start(canary, production, { bakeMs: 50 });
    await promotion.progressOnce(({ steps }) => steps.some(({ subject }) => subject === 'release-1'));
    await production.progressOnce('release-1', ({ steps }) => steps.some(({ step }) => step === 'upload'));
    await production.say('release-1', 'skip', { ...BO, what: 'greets' });
    production.world.bad.add(identity('b'));
    gate.open();
    expect(await promotion.result()).toMatchObject({ outcome: 'released', releaseId: 'release-1' });
  });

  it('waits for its turn behind a release that serves already and soaks, and takes back no more than its own', async () => {
    const { canary, production } = await line();
    const good = production.world.active;
    const approval = { required: 1, withinMs: 3_600_000 };
    const promotion = await promotions.start(canary, production, { approval, bakeMs: DAY_MS });
    await promotion.waitsFor('approval');
    const { releaseId } = await production.submit('c', { soakMs: DAY_MS });
    await production.progressOnce(releaseId, ({ steps }) => steps.some(({ step }) => step === 'soak'));
    await promotion.say('approve', BO);
    await promotion.progressOnce(({ steps, waiting }) => {
      expect(waiting?.note).toBeUndefined();
      return steps.some(({ subject }) => subject === 'release-2');
    });
    await production.say(releaseId, 'abort', BO);
    await promotion.progressOnce(({ steps }) => steps.some(({ step }) => step === 'bake'));
    production.world.bad.add(identity('b'));
    expect(await promotion.result()).toMatchObject({ outcome: 'rolled_back', releaseId: 'release-2' });
    expect(production.world.active).toBe(good);
    expect(production.world.redeployed).toEqual([good, good]);
  });

  it('that fails in its bake blocks a target that has no revision to go back to', async () => {
    const { canary } = await line();
    const production = harness.newTarget();
    const turnsBad = followedBy(({ bad }) => bad.add(identity('b')));
    production.world.next('runCheck', turnsBad);
    const result = await promotions.promote(canary, production, { bakeMs: DAY_MS });
    expect(result).toMatchObject({ outcome: 'rollback_failed', code: 'SLIPWAY_CHECK_FAILED' });
    expect((await production.view()).state.hold?.by.from).toBe('promotion canary-to-production');
  });

  it('that fails in its bake is taken back on a target whose runs Temporal has deleted', async () => {
    const { canary, production } = await line();
    const good = production.world.active;
    const promotion = await promotions.start(canary, production, { bakeMs: DAY_MS });
    await promotion.progressOnce(({ steps }) => steps.some(({ step }) => step === 'bake'));
    await production.terminate();
    await production.forget();
    production.world.bad.add(identity('b'));
    expect(await promotion.result()).toMatchObject({ outcome: 'rolled_back', releaseId: 'release-1' });
    expect(production.world.active).toBe(good);
    expect((await production.view()).state.hold).toMatchObject({ by: { who: 'slipway' } });
  });

  it('that another release has replaced in its bake is not taken back, also if the target’s answer is lost', async () => {
    const { canary, production } = await line();
    const promotion = await promotions.start(canary, production, { bakeMs: DAY_MS, checkEveryMs: DAY_MS });
    await promotion.progressOnce(({ steps }) => steps.some(({ step }) => step === 'bake'));
    const { revisionId } = await production.release('c');
    production.world.next('rollBackTarget', async (perform) => {
      await perform();
      throw failure('SLIPWAY_TEMPORAL_UNREACHABLE', { taken: false });
    });
    await promotion.say('abort', BO);
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'superseded', releaseId: 'release-1' });
    expect(result.reason).toContain('done already');
    expect(production.world.active).toBe(revisionId);
  });

  it('leaves the hold to who rolls its release back', async () => {
    const { canary, production } = await line();
    // After the baseline's check.
    production.world.next('runCheck', (perform) => perform());
    const gate = production.world.gate('runCheck');
    const promotion = await promotions.start(canary, production);
    await production.world.called('runCheck', 2);
    await production.rollback({ ...BO, hold: false });
    const result = await promotion.result();
    gate.open();
    expect(result).toMatchObject({ outcome: 'rolled_back', releaseId: 'release-1' });
    expect((await production.view()).state.hold).toBeNull();
  });

  it('is withdrawn if its candidate is rolled back while its release waits for its turn', async () => {
    const { canary, production } = await line();
    const approval = { required: 1, withinMs: DAY_MS };
    const releaseId = await waitingFor('approval', production, 'c', { approval });
    const promotion = await promotions.start(canary, production, shortAttempts(production));
    await promotion.progressOnce(({ steps }) => steps.some(({ subject }) => subject === 'release-2'));
    await canary.rollback(BO);
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'superseded', code: 'SLIPWAY_REVISION_REPLACED' });
    expect(result.reason).toContain('the candidate');
    await production.say(releaseId, 'reject', BO);
    expect(await production.ended('release-2')).toMatchObject({ outcome: 'aborted' });
    expect(production.world.count('patchDeployment')).toBe(0);
  });

  it('is withdrawn if its candidate is rolled back during a freeze that began after the promotion had looked', async () => {
    const { canary, production } = await line();
    const freeze = { name: 'weekend', timeZone: 'UTC', until: Date.now() + DAY_MS, then: 'wait' } as const;
    const begins = followedBy((world) => (world.frozen = freeze));
    production.world.next('lookAtFreezes', begins);
    const changes = {
      ...shortAttempts(production),
      freezes: [{ ...freeze, from: 'Fri 16:00', until: 'Mon 08:00' }],
    };
    const promotion = await promotions.start(canary, production, changes);
    await production.waitsFor('release-1', 'freeze');
    await canary.rollback(BO);
    expect(await promotion.result()).toMatchObject({ outcome: 'superseded', releaseId: 'release-1' });
    expect(production.world.count('patchDeployment')).toBe(0);
    expect((await production.view()).state.hold).toBeNull();
  });
});

/** A release that waits is looked at again and again, each time for a second. */
function shortAttempts(to: TargetUnderTest): Partial<PromotionRequest> {
  const { release } = promotionRequest(to, to);
  return { release: { ...release, steps: { ...release.steps, promote: { startToCloseMs: 2_000 } } } };
}

/** The target accepts the next submission. Before it answers, something happens, and the answer is lost. */
function loseAnswer(target: TargetUnderTest, happens: () => Promise<unknown>): void {
  target.world.next('submitToTarget', async (perform) => {
    await perform();
    await happens();
    throw failure('SLIPWAY_TEMPORAL_UNREACHABLE', { taken: false });
  });
}

/** The target accepts the next submission. Its answer is held until it is opened. */
function holdAnswer(target: TargetUnderTest) {
  const answer = hold();
  target.world.next('submitToTarget', async (perform) => {
    const answered = await perform();
    await answer.held();
    return answered;
  });
  return answer;
}

/** Holds a submission, even if it is canceled meanwhile. */
function hold() {
  let open = (): void => undefined;
  const opened = new Promise<boolean>((resolve) => (open = () => resolve(true)));
  const held = async (): Promise<void> => {
    while (!(await Promise.race([opened, setTimeout(50, false)]))) Context.current().heartbeat();
  };
  return { opened, open: () => open(), held };
}

async function releasesOf(target: TargetUnderTest): Promise<string[]> {
  const { state } = await target.view();
  return state.history.map(({ releaseId, outcome }) => `${releaseId} ${outcome}`);
}
