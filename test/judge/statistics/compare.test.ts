import { describe, expect, it } from 'vitest';

import type { MetricComparison } from '../../../src/domain/judge/metric.ts';
import {
  clopperPearson,
  compareDistributions,
  compareRates,
  fisherFewer,
  rateChange,
} from '../../../src/judge/statistics/compare.ts';
import { SCIPY } from './scipyFixtures.ts';

const LATENCIES = Array.from({ length: 100 }, (_, index) => 200 + ((index * 37) % 100));
const AT_95 = { confidence: 0.95, smallestEffect: 0.1 };

function distribution(comparison: MetricComparison) {
  if (comparison.kind !== 'distribution') throw new Error('not a distribution');
  return comparison;
}

describe('a distribution’s comparison', () => {
  it('expresses a ratio as a share of the baseline, with any unit', () => {
    const slower = LATENCIES.map((value) => value * 1.3);
    const { change, pWorse } = compareDistributions('latency', LATENCIES, slower, AT_95);
    expect(change!.estimate).toBeCloseTo(0.3, 2);
    expect(change!.lower).toBeGreaterThan(0.2);
    expect(pWorse).toBeLessThan(0.001);
  });

  it('compares a worsening with the relevant effect, not with zero', () => {
    const slightly = LATENCIES.map((value) => value * 1.05);
    expect(compareDistributions('latency', LATENCIES, slightly, AT_95).pWorse).toBeGreaterThan(0.5);
  });

  it('expresses a difference in the metric’s unit, and counts the lower value as worse', () => {
    const scores = Array.from({ length: 60 }, (_, index) => (index % 10) / 10);
    const worse = scores.map((score) => score - 0.3);
    const { change, pWorse } = compareDistributions('score', scores, worse, AT_95);
    expect(change!.estimate).toBeCloseTo(-0.3, 9);
    expect(pWorse).toBeLessThan(0.01);
    expect(compareDistributions('score', worse, scores, AT_95).pWorse).toBeGreaterThan(0.99);
  });

  it('has the data of a plot: 21 percentiles, and both sides over the same bins, none omitted', () => {
    const slower = LATENCIES.map((value) => value * 2);
    const { baseline, histogram, superiority } = distribution(
      compareDistributions('latency', LATENCIES, slower, AT_95),
    );
    expect(baseline!.quantiles).toHaveLength(21);
    expect(baseline!.quantiles[0]).toBe(200);
    expect(baseline!.quantiles[10]).toBeCloseTo(249.5, 9);
    expect(baseline!.quantiles[20]).toBe(299);
    expect(baseline!.mean).toBeCloseTo(249.5, 9);
    expect(histogram!.edges).toHaveLength(21);
    for (const counts of [histogram!.baseline, histogram!.candidate]) {
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(100);
    }
    expect(superiority).toBe(1);
  });

  it('counts an answer without characters as one character', () => {
    expect(compareDistributions('outputSize', [0, 0, 0], [0, 1, 0], AT_95).change!.estimate).toBe(0);
  });

  it('is empty if a side has no runs', () => {
    expect(compareDistributions('latency', [], LATENCIES, AT_95)).toMatchObject({
      baseline: null,
      change: null,
      pWorse: null,
    });
  });

  it('tests nothing if the metric decides nothing', () => {
    const { pWorse, change } = compareDistributions('latency', LATENCIES, LATENCIES, { confidence: 0.95 });
    expect(pWorse).toBeNull();
    expect(change!.estimate).toBe(0);
  });
});

it('a rate’s comparison is empty if a side has no runs', () => {
  const side = { runs: 10, held: 9 };
  expect(compareRates('success', { runs: 0, held: 0 }, side, { confidence: 0.95 }).change).toBeNull();
  expect(compareRates('success', side, side, { confidence: 0.95 }).pWorse).toBeGreaterThan(0.5);
});

describe('Fisher’s exact test', () => {
  it('gives the published values: the lady tasting tea, and the criminal twins', () => {
    expect(fisherFewer({ runs: 4, held: 3 }, { runs: 4, held: 1 })).toBeCloseTo(17 / 70, 12);
    expect(fisherFewer({ runs: 4, held: 4 }, { runs: 4, held: 0 })).toBeCloseTo(1 / 70, 12);
    expect(fisherFewer({ runs: 13, held: 10 }, { runs: 17, held: 2 })).toBeCloseTo(0.0004652, 7);
  });

  it('agrees with SciPy', () => {
    for (const { baseline, candidate, fisherFewer: p } of SCIPY.rates) {
      expect(fisherFewer(baseline, candidate) / p).toBeCloseTo(1, 8);
    }
  });

  it('finds nothing if both sides always succeed, or never', () => {
    expect(fisherFewer({ runs: 50, held: 50 }, { runs: 50, held: 50 })).toBeCloseTo(1, 12);
    expect(fisherFewer({ runs: 50, held: 0 }, { runs: 50, held: 0 })).toBeCloseTo(1, 12);
  });
});

describe('the bounds of Clopper and Pearson', () => {
  it('agree with SciPy', () => {
    for (const { baseline, clopperPearson: bounds } of SCIPY.rates) {
      const { lower, upper } = clopperPearson(baseline, 0.95);
      expect(lower).toBeCloseTo(bounds.lower, 9);
      expect(upper).toBeCloseTo(bounds.upper, 9);
    }
  });
});

describe('the change of a rate', () => {
  it('is candidate less baseline, within bounds that widen with fewer runs', () => {
    const of = (runs: number) => rateChange({ runs, held: runs * 0.9 }, { runs, held: runs * 0.8 }, 0.95);
    const [many, few] = [of(1000), of(50)];
    expect(many.estimate).toBeCloseTo(-0.1, 12);
    expect(many.lower).toBeGreaterThan(few.lower!);
    expect(many.upper).toBeLessThan(few.upper!);
    expect(many.upper).toBeLessThan(0);
  });

  it('allows for a worsening that no run showed', () => {
    const { estimate, lower, upper } = rateChange({ runs: 200, held: 200 }, { runs: 200, held: 200 }, 0.95);
    expect(estimate).toBe(0);
    // Three in 200: the rule of three.
    expect(lower).toBeCloseTo(-(1 - 0.05 ** (1 / 200)), 9);
    expect(upper).toBeCloseTo(1 - 0.05 ** (1 / 200), 9);
  });
});
