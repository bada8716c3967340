import { expect, it } from 'vitest';

import type { Check } from '../../../src/domain/check/check.ts';
import type { Evaluator } from '../../../src/domain/check/evaluator.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { waitingFor } from '../moments.ts';
import { GREETS } from '../requests.ts';
import { inTurn, json, startService } from '../../clients/faultyService.ts';
import type { AfterTest } from '../../support/afterTest.ts';

/** A check with an evaluator that gives these scores, one after the other; `null`: it refuses to. */
async function scoredWith(
  { onTestFinished }: { readonly onTestFinished: AfterTest },
  scores: readonly (number | null)[],
  onNoScore: Evaluator['onNoScore'] = 'fail',
): Promise<Check> {
  const next = inTurn(scores);
  const { url } = await startService((_, response) => {
    const score = next();
    json(response, score === null ? 400 : 200, { score });
  }, onTestFinished);
  return { ...GREETS, evaluators: [{ name: 'tone', url, minScore: 0.8, timeoutMs: 30_000, onNoScore }] };
}

describeWorkflows('checks with evaluators', (harness) => {
  it('release a revision with good scores, which its result keeps', async (test) => {
    const target = harness.newTarget();
    const result = await target.release('a', { checks: [await scoredWith(test, [0.9])] });
    expect(result).toMatchObject({ outcome: 'released' });
    expect(result.verdicts).toMatchObject([{ passed: true, scores: [{ evaluator: 'tone', scores: [0.9] }] }]);
    expect(result.steps.find(({ step }) => step === 'check')?.detail).toMatch(/^scored tone 0.9; .*hello/);
  });

  it('restore what served if a score is too low', async (test) => {
    const { target } = harness.newServingTarget();
    const result = await target.release('b', { checks: [await scoredWith(test, [0.7])] });
    expect(result).toMatchObject({ outcome: 'rolled_back', code: 'SLIPWAY_CHECK_FAILED' });
    expect(result.reason).toContain('evaluator "tone" scored 0.7, at least 0.8 is needed');
  });

  it('restore what served without a score if they must have one, which does not count against the revision', async (test) => {
    const { target } = harness.newServingTarget();
    const checks = [await scoredWith(test, [null])];
    for (const artifact of ['b', 'b', 'b']) {
      const result = await target.release(artifact, { checks });
      expect(result).toMatchObject({ outcome: 'rolled_back', code: 'SLIPWAY_EVALUATOR_FAILED' });
      expect(result.reason).toContain('evaluator "tone" gave no score');
    }
  });

  it('ask a person about a score that is missing, if the target waits when it cannot tell', async (test) => {
    const target = harness.newTarget();
    const checks = [await scoredWith(test, [null, 0.9])];
    const releaseId = await waitingFor('decision', target, 'a', {
      checks,
      onError: { then: 'wait', waitMs: 60_000 },
    });
    await target.say(releaseId, 'retry', {});
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('take from the budget for the runs without a score, too', async (test) => {
    const target = harness.newTarget();
    const checks = [await scoredWith(test, [null, 0.9]), { ...GREETS, name: 'second' }];
    const releaseId = await waitingFor('decision', target, 'a', {
      checks,
      checksBudget: { runs: 2 },
      onError: { then: 'wait', waitMs: 60_000 },
    });
    await target.say(releaseId, 'retry', {});
    expect(await target.result(releaseId)).toMatchObject({ code: 'SLIPWAY_CHECKS_BUDGET_SPENT' });
  });

  it('verify a restored revision without a score, because their outage must not stop a restore', async (test) => {
    const target = harness.newTarget();
    const checks = [await scoredWith(test, [0.9, null])];
    const first = await target.release('a', { checks });
    expect(first).toMatchObject({ outcome: 'released' });
    const bad = await target.release('b', { checks: [{ ...GREETS, expect: { contains: 'goodbye' } }] });
    expect(bad).toMatchObject({
      ...{ outcome: 'rolled_back', servingRevisionId: first.revisionId, servingVerified: true },
    });
    expect(bad.verdicts.at(-1)).toMatchObject({ passed: true, scores: [{ scores: [null] }] });
  });

  it.for([
    ['one round', 1, 'released'],
    ['seven rounds in a row', 7, 'rolled_back'],
  ] as const)('that give no score in %s of a soak', async ([, rounds, outcome], test) => {
    const { target } = harness.newServingTarget();
    const scores = [0.9, ...Array<null>(rounds).fill(null), 0.9];
    const result = await target.release('a', { checks: [await scoredWith(test, scores)], soakMs: 500 });
    expect(result.outcome).toBe(outcome);
    expect(result.code).toBe(outcome === 'released' ? null : 'SLIPWAY_EVALUATOR_FAILED');
  });

  it('are asked in a soak, too', async (test) => {
    const target = harness.newTarget();
    const checks = [await scoredWith(test, [0.9, 0.1])];
    const { releaseId } = await target.submit('a', { checks, soakMs: 500 });
    const result = await target.result(releaseId);
    expect(result.reason).toContain('failed during the soak');
    expect(result.reason).toContain('evaluator "tone" scored 0.1');
  });
});
