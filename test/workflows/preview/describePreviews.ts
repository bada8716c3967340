import { describe, expect, inject, test } from 'vitest';

import { type Harness, replayedEachTime, replayFailures } from '../harness.ts';
import { useHarness } from '../projectHarness.ts';
import type { World } from '../world.ts';
import { type PreviewUnderTest, PreviewsUnderTest } from './previewUnderTest.ts';

interface PreviewTests {
  readonly harness: Harness;
  readonly previews: PreviewsUnderTest;
  /** A preview that is not there yet, in a world of its own. */
  readonly newPreview: (continueAsNewAfterEvents?: number) => {
    readonly preview: PreviewUnderTest;
    readonly world: World;
  };
}

/** Runs a file's tests of previews, all concurrently. Afterwards all histories must replay. */
export function describePreviews(name: string, tests: (under: PreviewTests) => void): void {
  describe(name, () => {
    const harness = useHarness();
    const previews = new PreviewsUnderTest(harness);
    const newPreview: PreviewTests['newPreview'] = (continueAsNewAfterEvents) => {
      const target = harness.newTarget();
      const limit = continueAsNewAfterEvents === undefined ? {} : { continueAsNewAfterEvents };
      return { preview: previews.of(target, limit), world: target.world };
    };

    describe.concurrent('tests', () => tests({ harness, previews, newPreview }));

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
