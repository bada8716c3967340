import { expect, it } from 'vitest';

import { describeWorkflows } from '../describeWorkflows.ts';
import { GREETS } from '../requests.ts';

const CHECKS = ['first', 'second', 'third'].map((name) => ({ ...GREETS, name, repeat: 2 }));

describeWorkflows('checks with a budget', (harness) => {
  it('are one activity each, and take from it together', async () => {
    const target = harness.newTarget();
    const { releaseId } = await target.submit('a', { checks: CHECKS, checksBudget: { runs: 6 } });
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'released' });
    expect(result.verdicts.map(({ repetitions }) => repetitions?.passed)).toEqual([2, 2, 2]);
    expect(target.world.calls.filter((call) => call.activity === 'runCheck')).toHaveLength(3);
  });

  it('end a release that spends it, and restore what served, whose checks have no budget', async () => {
    const { target } = harness.newServingTarget();
    const result = await target.release('b', { checks: CHECKS, checksBudget: { runs: 5 } });
    expect(result).toMatchObject({ outcome: 'rolled_back', code: 'SLIPWAY_CHECKS_BUDGET_SPENT' });
    expect(result.reason).toContain('the budget of the checks has no room for "third"');
  });

  it('have all of it again in each round of a soak', async () => {
    const target = harness.newTarget();
    const { releaseId } = await target.submit('a', {
      checks: CHECKS,
      checksBudget: { runs: 6 },
      soakMs: 500,
    });
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
  });
});
