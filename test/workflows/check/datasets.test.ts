import { createHash } from 'node:crypto';

import { expect, it } from 'vitest';

import type { Check } from '../../../src/domain/check/check.ts';
import type { Dataset, DatasetResults } from '../../../src/domain/check/dataset.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { refused } from '../faults.ts';
import { GREETS } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import type { World } from '../world.ts';

/** With 12 rows and this rate, 12 that pass are enough, 6 to 11 are not enough to tell, and fewer fail. */
const PASS_RATE = 0.7;
const ROWS = 12;

/** A check over rows, of which each expects one of these words. */
function over(world: World, words: readonly string[], fields: Partial<Dataset> = {}): Check {
  const rows = words.map((contains, n) => JSON.stringify({ input: { n }, expect: { contains } })).join('\n');
  const digest = `sha256:${createHash('sha256').update(rows).digest('hex')}`;
  world.datasets.set(digest, rows);
  const dataset = { digest, of: words.length, rows: words.length, seed: 0, concurrency: 2 };
  return { ...GREETS, name: 'rows', expect: {}, dataset: { ...dataset, passRate: PASS_RATE, ...fields } };
}

/** Rows of which so many pass. */
function passing(passes: number): readonly string[] {
  return Array.from({ length: ROWS }, (_, n) => (n < ROWS - passes ? 'goodbye' : 'hello'));
}

/** The rows that the agent is asked from now on, in their order. */
function rowsAskedOf({ world }: TargetUnderTest): number[] {
  const asked: number[] = [];
  world.onRun = (input) => {
    const { n } = input as { readonly n?: number };
    // The check of a restored revision has no rows.
    if (n !== undefined) asked.push(n);
    return Promise.resolve();
  };
  return asked;
}

describeWorkflows('a check over a dataset', (harness) => {
  it('releases a revision whose rows show the pass rate, and keeps the result of each', async () => {
    const target = harness.newTarget();
    const asked = rowsAskedOf(target);
    const result = await target.release('a', { checks: [over(target.world, passing(ROWS))] });
    expect(result).toMatchObject({ outcome: 'released' });
    const [{ dataset } = {}] = result.verdicts;
    expect(dataset).toMatchObject({ decision: 'passed', made: ROWS, passed: ROWS });
    const { rows } = target.world.kept.get(dataset?.results ?? '') as DatasetResults;
    expect(rows.map(({ line, passed }) => [line, passed])).toEqual(
      Array.from({ length: ROWS }, (_, n) => [n + 1, true]),
    );
    expect(asked).toHaveLength(ROWS);
    expect(target.world.count('runCheck')).toBe(1);
    const steps = result.steps.filter(({ step }) => step === 'check').map(({ detail }) => detail);
    expect(steps).toEqual([expect.stringMatching(/^12 of 12 rows passed; the pass rate is between /)]);
  });

  it('restores what served as soon as the rows cannot show the pass rate', async () => {
    const { target, good } = harness.newServingTarget();
    const asked = rowsAskedOf(target);
    const result = await target.release('b', { checks: [over(target.world, passing(0))] });
    expect(result).toMatchObject({
      ...{ outcome: 'rolled_back', code: 'SLIPWAY_CHECK_FAILED', servingVerified: true },
    });
    expect(target.world.redeployed).toEqual([good]);
    expect(result.verdicts[0]).toMatchObject({ passed: false, dataset: { decision: 'failed', passed: 0 } });
    expect(result.reason).toContain('rows asked of 12 passed');
    expect(asked.length).toBeLessThan(ROWS);
  });

  it('releases nothing that is not enough to tell, and does not count that against the artifact', async () => {
    const { target } = harness.newServingTarget();
    const checks = [over(target.world, passing(9))];
    for (const artifact of ['b', 'b', 'b']) {
      const result = await target.release(artifact, { checks });
      expect(result).toMatchObject({ outcome: 'rolled_back', code: 'SLIPWAY_CHECK_UNDECIDED' });
      expect(result.verdicts[0]).toMatchObject({
        passed: false,
        dataset: { decision: 'undecided', made: ROWS },
      });
      expect(result.reason).toContain('not enough to tell');
    }
  });

  it('verifies a revision that passed it before, also if it is not enough to tell any more', async () => {
    const target = harness.newTarget();
    const words = [...passing(ROWS).slice(3), 'lilac', 'lilac', 'lilac'];
    const first = await target.release('a', { checks: [over(target.world, words)] });
    expect(first).toMatchObject({ outcome: 'released' });
    target.world.knownOnlyTo.set('lilac', new Set());
    const bad = await target.release('b', { checks: [{ ...GREETS, expect: { contains: 'goodbye' } }] });
    expect(bad).toMatchObject({
      ...{ outcome: 'rolled_back', servingRevisionId: first.revisionId, servingVerified: true },
    });
    expect(bad.verdicts.at(-1)).toMatchObject({ passed: true, dataset: { decision: 'undecided' } });
  });

  it('changes nothing if the store’s copy of the dataset is damaged', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('findDatasets', refused('SLIPWAY_ARTIFACT_CORRUPT'));
    const result = await target.release('b', { checks: [over(target.world, passing(ROWS))] });
    expect(result).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_ARTIFACT_CORRUPT' });
    expect(target.world.count('patchDeployment')).toBe(0);
  });

  it('asks all rows in each round of a soak, where not enough to tell ends nothing', async () => {
    const target = harness.newTarget();
    const words = [...passing(ROWS).slice(3), 'lilac', 'lilac', 'lilac'];
    let runs = 0;
    target.world.onRun = () => {
      runs += 1;
      if (runs > ROWS) target.world.knownOnlyTo.set('lilac', new Set());
      return Promise.resolve();
    };
    const { releaseId } = await target.submit('a', { checks: [over(target.world, words)], soakMs: 500 });
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
    expect(runs).toBeGreaterThanOrEqual(2 * ROWS);
  });
});
