import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { type Harness, replayedEachTime, replayFailures } from '../harness.ts';
import { openProjectHarness } from '../projectHarness.ts';
import type { ScriptedJudge } from '../judge/scriptedJudge.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import type { World } from '../world.ts';
import { type PreviewUnderTest, PreviewsUnderTest } from './previewUnderTest.ts';

interface PreviewWorld {
  readonly harness: Pick<Harness, 'newTarget' | 'newTargetIn' | 'judge'>;
  /** A preview that is not there yet, in a world of its own. */
  readonly newPreview: (continueAsNewAfterEvents?: number) => {
    readonly preview: PreviewUnderTest;
    readonly world: World;
  };
  readonly previewOf: (target: TargetUnderTest) => PreviewUnderTest;
}

/** Runs a file's tests of previews, all concurrently. Afterwards all histories must replay. */
export function describePreviews(name: string, tests: (world: PreviewWorld) => void): void {
  describe(name, () => {
    let harness: Harness;
    let previews: PreviewsUnderTest;

    beforeAll(async () => {
      const opened = await openProjectHarness();
      harness = opened.harness;
      previews = await PreviewsUnderTest.open(inject('temporalAddress'), opened.taskQueue);
    });

    afterAll(async () => {
      await previews.close();
      await harness.close();
    });

    describe.concurrent('tests', () => {
      tests({
        harness: {
          get judge(): ScriptedJudge {
            return harness.judge;
          },
          newTarget: (input) => harness.newTarget(input),
          newTargetIn: (...where) => harness.newTargetIn(...where),
        },
        previewOf: (target) => previews.of(target),
        newPreview: (continueAsNewAfterEvents) => {
          const target = harness.newTarget();
          const limit = continueAsNewAfterEvents === undefined ? {} : { continueAsNewAfterEvents };
          return { preview: previews.of(target, limit), world: target.world };
        },
      });
    });

    test('runs of these tests replay', async () => {
      const histories = await previews.histories();
      expect(histories.length).toBeGreaterThan(0);
      expect(await replayFailures(inject('workflowBundle'), histories)).toEqual([]);
      const started = harness.targets.filter(({ world }) => world.count('recordRelease') > 0);
      const ofTargets = (await Promise.all(started.map((target) => target.histories()))).flat();
      expect(await replayFailures(inject('workflowBundle'), replayedEachTime(ofTargets))).toEqual([]);
      await Promise.all(started.map((target) => target.terminate()));
    });
  });
}
