import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { type Harness, replayFailures } from '../harness.ts';
import { openProjectHarness } from '../projectHarness.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import { type HookOptions, HooksUnderTest, type HookUnderTest } from './hooksUnderTest.ts';

/** What tests of hooks use. */
export interface HookWorld {
  readonly harness: Pick<Harness, 'newServingTarget' | 'newReleasedTarget'>;
  readonly hooks: { make(options: HookOptions): HookUnderTest };
  /** A target on which b was released after what served, and a hook with one rule for it. */
  readonly released: (
    rule: string,
  ) => Promise<{ readonly target: TargetUnderTest; readonly good: string; readonly hook: HookUnderTest }>;
}

/** Runs a file's tests of hooks, all concurrently. Afterwards the hooks' histories must replay. */
export function describeHooks(name: string, tests: (world: HookWorld) => void): void {
  describe(name, () => {
    let harness: Harness;
    let hooks: HooksUnderTest;

    beforeAll(async () => {
      const opened = await openProjectHarness();
      harness = opened.harness;
      hooks = await HooksUnderTest.open(inject('temporalAddress'), opened.taskQueue);
    });

    afterAll(async () => {
      await hooks.close();
      await harness.close();
    });

    describe.concurrent('tests', () => {
      tests({
        harness: {
          newServingTarget: (input) => harness.newServingTarget(input),
          get newReleasedTarget() {
            return harness.newReleasedTarget;
          },
        },
        hooks: { make: (options) => hooks.make(options) },
        released: async (rule) => {
          const [target, good] = await harness.newReleasedTarget('x', 'b');
          return { target, good, hook: hooks.make({ target, rules: `      - ${rule}` }) };
        },
      });
    });

    test('runs of these tests replay', async () => {
      const histories = await hooks.histories();
      expect(histories.length).toBeGreaterThan(0);
      expect(await replayFailures(inject('workflowBundle'), histories)).toEqual([]);
    });
  });
}
