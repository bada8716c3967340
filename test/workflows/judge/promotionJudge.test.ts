import { expect, it } from 'vitest';

import { DEFAULT_POLICY } from '../../../src/domain/judge/settings.ts';
import { describePromotions } from '../promotion/describePromotions.ts';
import { judgedBy, type PromotionUnderTest } from '../promotion/promotionsUnderTest.ts';
import { QUICK, stepNames } from '../requests.ts';

const BO = { who: 'bo', reason: 'a reason' };
const DAY_MS = 86_400_000;

async function asked(promotion: PromotionUnderTest): Promise<string> {
  const { waiting } = await promotion.waitsFor('decision');
  return waiting?.note ?? '';
}

describePromotions('a promotion with a judge', ({ harness, promotions, line }) => {
  it('continues if the candidate is no worse, and keeps the verdict with the report’s name', async () => {
    const { canary, production } = await line();
    const promotion = await promotions.start(canary, production, {
      judge: judgedBy('ask'),
      soakMs: 20,
      bakeMs: 20,
    });
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'released', judgement: { verdict: 'passed' } });
    const [input, ...more] = harness.judge.askedFor(production.world);
    expect(more).toEqual([]);
    expect(result.judgement).toMatchObject({
      baselineRevisionId: input?.sides.baseline.revisionId,
      candidateRevisionId: canary.world.active,
      report: `judgements/${input?.judgementId}/report.json`,
    });
    expect(input?.sides).toMatchObject({
      baseline: { target: { name: 'production' }, agentUrl: `http://agent.${production.world.id}.test` },
      candidate: { target: { name: 'canary' }, agentUrl: `http://agent.${canary.world.id}.test` },
    });
    expect(input?.settings.policy).toEqual(DEFAULT_POLICY);
    const steps = stepNames(result);
    expect(steps.indexOf('judge done')).toBe(steps.indexOf('soak done') + 1);
    const { judgement } = await promotion.progressOnce(() => true);
    expect(judgement).toEqual(result.judgement);
    const { history } = await promotion.history();
    expect(history.events?.length).toBeLessThan(70);
  });

  it('ends if it is worse, and nothing is changed', async () => {
    const { canary, production } = await line();
    harness.judge.says(production.world, 'failed');
    const result = await promotions.promote(canary, production, { judge: judgedBy('ask') });
    expect(result).toMatchObject({
      outcome: 'failed',
      code: 'SLIPWAY_CANDIDATE_WORSE',
      judgement: { verdict: 'failed' },
    });
    expect(result.reason).toMatch(/it was made to be failed \(report: judgements\/.+report\.json\)/);
    expect(production.world.count('patchDeployment')).toBe(0);
  });

  it('is errored, not failed, if a side is unavailable; or waits for a person, who may repeat the judgement', async () => {
    const { canary, production } = await line();
    harness.judge.says(production.world, { away: 'SLIPWAY_UNREACHABLE' });
    const errored = await promotions.promote(canary, production, { judge: judgedBy('ask') });
    expect(errored).toMatchObject({ outcome: 'errored', code: 'SLIPWAY_JUDGE_ERRORED' });
    harness.judge.says(production.world, { away: 'SLIPWAY_UNREACHABLE' });
    const { checks, graphConfigPath } = production.request('any');
    const onError = { then: 'wait', waitMs: DAY_MS } as const;
    const release = { checks, graphConfigPath, steps: QUICK, soakMs: 0, onError };
    const waits = await promotions.start(canary, production, { judge: judgedBy('ask'), release });
    expect(await asked(waits)).toContain('SLIPWAY_UNREACHABLE');
    await waits.say('retry', BO);
    expect(await waits.result()).toMatchObject({ outcome: 'released', judgement: { verdict: 'passed' } });
  });

  it('that is inconclusive never continues by itself: a person repeats the judgement, or continues without it', async () => {
    const { canary, production } = await line();
    harness.judge.says(production.world, 'inconclusive', 'inconclusive');
    const promotion = await promotions.start(canary, production, { judge: judgedBy('ask') });
    expect(await asked(promotion)).toContain('it was made to be inconclusive');
    expect(production.world.count('patchDeployment')).toBe(0);
    await promotion.say('retry', BO);
    await promotion.progressOnce(
      ({ steps, waiting }) => waiting !== null && steps.filter(({ step }) => step === 'judge').length === 2,
    );
    expect(production.world.count('patchDeployment')).toBe(0);
    await promotion.say('skip', { ...BO, what: 'judge' });
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'released', judgement: { verdict: 'inconclusive' } });
    expect(stepNames(result)).toContain('judge skipped');
    expect(result.interventions.map(({ kind }) => kind)).toEqual(['retry', 'skip']);
  });

  it('that is inconclusive ends it if that is the policy', async () => {
    const { canary, production } = await line();
    harness.judge.says(production.world, 'inconclusive');
    const result = await promotions.promote(canary, production, { judge: judgedBy('fail') });
    expect(result).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_JUDGE_INCONCLUSIVE' });
    expect(production.world.count('patchDeployment')).toBe(0);
  });

  it('that is inconclusive is repeated later up to a limit, with the error of a single judgement', async () => {
    const { canary, production } = await line();
    harness.judge.says(production.world, 'inconclusive', 'inconclusive');
    const later = await promotions.promote(canary, production, { judge: judgedBy('wait') });
    expect(later).toMatchObject({ outcome: 'released', judgement: { verdict: 'passed' } });
    const inputs = harness.judge.askedFor(production.world);
    const errors = inputs.map(({ settings }) => 1 - settings.policy.confidence);
    expect(errors.reduce((sum, error) => sum + error)).toBeCloseTo(1 - DEFAULT_POLICY.confidence);
    expect(new Set(inputs.map(({ judgementId }) => judgementId)).size).toBe(3);
    await canary.release('c');
    harness.judge.says(production.world, 'inconclusive', 'inconclusive', 'inconclusive');
    const never = await promotions.promote(canary, production, { judge: judgedBy('wait') });
    expect(never).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_JUDGE_INCONCLUSIVE' });
  });

  it('continues without the judge on a person’s request during the judgement', async () => {
    const { canary, production } = await line();
    harness.judge.says(production.world, 'never');
    const promotion = await promotions.start(canary, production, { judge: judgedBy('ask') });
    await promotion.progressOnce(({ steps }) => steps.at(-1)?.step === 'judge');
    expect(await promotion.say('skip', { ...BO, what: 'judge' })).toMatchObject({
      note: 'the promotion continues without the judge',
    });
    expect(await promotion.result()).toMatchObject({ outcome: 'released', judgement: null });
  });

  it('ends superseded if the candidate no longer serves', async () => {
    const { canary, production } = await line();
    harness.judge.says(production.world, 'inconclusive', { away: 'SLIPWAY_NOT_SERVING' });
    const promotion = await promotions.start(canary, production, { judge: judgedBy('ask') });
    await asked(promotion);
    await canary.release('c');
    await promotion.say('retry', BO);
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'superseded' });
    expect(result.reason).toContain('serves on "canary" instead of the candidate');
    expect(production.world.count('patchDeployment')).toBe(0);
  });

  it('asks if production was changed by hand, and then compares with what serves now', async () => {
    const { canary, production } = await line();
    await production.release('a');
    harness.judge.says(production.world, 'inconclusive', { away: 'SLIPWAY_NOT_SERVING' });
    const promotion = await promotions.start(canary, production, { judge: judgedBy('ask') });
    await asked(promotion);
    const byHand = production.world.patchElsewhere();
    production.world.bringUp(byHand);
    await promotion.say('retry', BO);
    await promotion.progressOnce(({ waiting }) => waiting?.note.includes('changed by hand') === true);
    await promotion.say('retry', BO);
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'released', judgement: { baselineRevisionId: byHand } });
  });

  it('ends superseded if another release serves on production before it is verified', async () => {
    const { canary, production } = await line();
    harness.judge.says(production.world, 'inconclusive', { away: 'SLIPWAY_NOT_SERVING' });
    const promotion = await promotions.start(canary, production, { judge: judgedBy('ask') });
    await asked(promotion);
    const { releaseId } = await production.submit('c', { soakMs: DAY_MS });
    await production.progressOnce(releaseId, ({ steps }) => steps.some(({ step }) => step === 'soak'));
    await promotion.say('retry', BO);
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'superseded' });
    expect(result.reason).toMatch(/^revision .+ serves on "production" instead of .+: release-1 runs$/u);
    await production.say(releaseId, 'skip', { ...BO, what: 'soak' });
    await production.result(releaseId);
  });

  it('that is repeated later does not begin while the promotion is paused', async () => {
    const { canary, production } = await line();
    harness.judge.says(production.world, 'inconclusive');
    const judge = { ...judgedBy('wait'), again: { afterMs: 1_000, times: 1 } };
    const promotion = await promotions.start(canary, production, { judge });
    await asked(promotion);
    await promotion.say('pause', BO);
    const { waiting } = await promotion.waitsFor('resume');
    expect(waiting?.note).toContain('no further step begins');
    expect(harness.judge.askedFor(production.world)).toHaveLength(1);
    await promotion.say('resume', BO);
    expect(await promotion.result()).toMatchObject({ outcome: 'released', judgement: { verdict: 'passed' } });
  });

  it('is skipped with a reason if nothing serves to compare with', async () => {
    const [canary] = await harness.newReleasedTarget('b');
    const fresh = harness.newTarget();
    const result = await promotions.promote(canary, fresh, { judge: judgedBy('ask') });
    expect(result).toMatchObject({ outcome: 'released', judgement: null });
    const step = result.steps.find(({ step: name }) => name === 'judge');
    expect(step).toMatchObject({
      status: 'skipped',
      subject: 'nothing serves on "production" to compare with',
    });
  });
});
