import { describe, expect, inject, test } from 'vitest';

import { claimsAreTrue } from '../../../src/domain/audit/audit.ts';
import { readTargetFacts } from '../../../src/temporal/history/readFacts.ts';
import { type Harness, replayedEachTime, replayFailures } from '../harness.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import { useHarness } from '../projectHarness.ts';
import { PromotionsUnderTest } from './promotionsUnderTest.ts';

interface PromotionTests {
  readonly harness: Harness;
  readonly promotions: PromotionsUnderTest;
  /** A canary on which Ada has released `b`, and a production that serves another artifact. */
  readonly line: () => Promise<{ readonly canary: TargetUnderTest; readonly production: TargetUnderTest }>;
}

/**
 * Runs a file's tests of promotions with the workers of the project, all concurrently, each with its own targets.
 * Afterwards it checks that their histories replay, and that each promotion reports its release correctly.
 */
export function describePromotions(name: string, tests: (under: PromotionTests) => void): void {
  describe(name, () => {
    const harness = useHarness();
    const promotions = new PromotionsUnderTest(harness);
    const line: PromotionTests['line'] = async () => {
      const [canary] = await harness.newReleasedTarget('x', 'b');
      return { canary, production: harness.newServingTarget().target };
    };

    describe.concurrent('tests', () => tests({ harness, promotions, line }));

    test('runs of these tests replay, and no promotion makes a false claim', async () => {
      const started = harness.targets.filter(
        ({ isStarted, world }) => isStarted || world.count('recordRelease') > 0,
      );
      const ofPromotions = await promotions.histories();
      const ofTargets = await Promise.all(started.map((target) => target.histories()));
      const histories = [...ofPromotions, ...ofTargets.flat()];
      for (const [index, { workflowId }] of started.entries()) {
        const target = readTargetFacts(workflowId, [...(ofTargets[index] ?? []), ...ofPromotions]);
        expect(claimsAreTrue({ target, observed: null, secrets: [] })).toEqual([]);
      }
      expect(histories.length).toBeGreaterThan(started.length);
      expect(await replayFailures(inject('workflowBundle'), replayedEachTime(histories))).toEqual([]);
      await Promise.all(started.map((target) => target.terminate()));
    });
  });
}
