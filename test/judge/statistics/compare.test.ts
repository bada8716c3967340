import { describe, expect, it } from 'vitest';

import type { MetricComparison } from '../../../src/domain/judge/metric.ts';
import { compareDistributions, compareRates } from '../../../src/judge/statistics/compare.ts';

const LATENCIES = Array.from({ length: 100 }, (_, index) => 200 + ((index * 37) % 100));
const AT_95 = { confidence: 0.95, smallestEffect: 0.1 };

function distribution(comparison: MetricComparison) {
  if (comparison.kind !== 'distribution') throw new Error('not a distribution');
  return comparison;
}

describe('a distribution’s comparison', () => {
  it('tells a ratio as a share of the baseline, whatever the unit', () => {
    const slower = LATENCIES.map((value) => value * 1.3);
    const { change, pWorse } = compareDistributions('latency', LATENCIES, slower, AT_95);
    expect(change!.estimate).toBeCloseTo(0.3, 2);
    expect(change!.lower).toBeGreaterThan(0.2);
    expect(pWorse).toBeLessThan(0.001);
  });

  it('holds a worsening against what matters, not against nothing', () => {
    const slightly = LATENCIES.map((value) => value * 1.05);
    expect(compareDistributions('latency', LATENCIES, slightly, AT_95).pWorse).toBeGreaterThan(0.5);
  });

  it('tells a difference in the metric’s own unit, and takes the lower one for the worse', () => {
    const scores = Array.from({ length: 60 }, (_, index) => (index % 10) / 10);
    const worse = scores.map((score) => score - 0.3);
    const { change, pWorse } = compareDistributions('score', scores, worse, AT_95);
    expect(change!.estimate).toBeCloseTo(-0.3, 9);
    expect(pWorse).toBeLessThan(0.01);
    expect(compareDistributions('score', worse, scores, AT_95).pWorse).toBeGreaterThan(0.99);
  });

  it('has what a plot needs: 21 percentiles, and both sides over the same bins, none left out', () => {
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

  it('takes an answer of no characters for one of one', () => {
    expect(compareDistributions('outputSize', [0, 0, 0], [0, 1, 0], AT_95).change!.estimate).toBe(0);
  });

  it('says nothing where a side has no runs', () => {
    expect(compareDistributions('latency', [], LATENCIES, AT_95)).toMatchObject({
      baseline: null,
      change: null,
      pWorse: null,
    });
  });

  it('tests nothing where the metric decides nothing', () => {
    const { pWorse, change } = compareDistributions('latency', LATENCIES, LATENCIES, { confidence: 0.95 });
    expect(pWorse).toBeNull();
    expect(change!.estimate).toBe(0);
  });
});

it('a rate’s comparison says nothing where a side has no runs', () => {
  const side = { runs: 10, held: 9 };
  expect(compareRates('success', { runs: 0, held: 0 }, side, { confidence: 0.95 }).change).toBeNull();
  expect(compareRates('success', side, side, { confidence: 0.95 }).pWorse).toBeGreaterThan(0.5);
});
