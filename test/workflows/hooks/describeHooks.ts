import { afterAll, describe, expect, inject, test } from 'vitest';

import { type Harness, replayFailures } from '../harness.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import { useHarness } from '../projectHarness.ts';
import { HooksUnderTest, type HookUnderTest } from './hooksUnderTest.ts';

interface HookTests {
  readonly harness: Harness;
  readonly hooks: HooksUnderTest;
  /** A target on which b was released after what served, and a hook with one rule for it. */
  readonly released: (
    rule: string,
  ) => Promise<{ readonly target: TargetUnderTest; readonly good: string; readonly hook: HookUnderTest }>;
}

/** Runs a file's tests of hooks, all concurrently. Afterwards the hooks' histories must replay. */
export function describeHooks(name: string, tests: (under: HookTests) => void): void {
  describe(name, () => {
    const harness = useHarness();
    const hooks = new HooksUnderTest(harness);
    afterAll(() => hooks.terminate());
    const released: HookTests['released'] = async (rule) => {
      const [target, good] = await harness.newReleasedTarget('x', 'b');
      return { target, good, hook: hooks.make({ target, rules: `      - ${rule}` }) };
    };

    describe.concurrent('tests', () => tests({ harness, hooks, released }));

    test('runs of these tests replay', async () => {
      const histories = await hooks.histories();
      expect(histories.length).toBeGreaterThan(0);
      expect(await replayFailures(inject('workflowBundle'), histories)).toEqual([]);
    });
  });
}
