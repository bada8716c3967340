import { describe, expect, it } from 'vitest';

import type { Change, DistributionSide, MetricComparison } from '../../../src/domain/judge/metric.ts';
import type { JudgePolicy } from '../../../src/domain/judge/settings.ts';
import { decide, holm, worsening } from '../../../src/domain/judge/verdict.ts';

const POLICY: JudgePolicy = { confidence: 0.95, minimumRuns: 20, smallestEffects: { latency: 0.1 } };

function sideOf(runs: number): DistributionSide {
  return { runs, mean: 100, quantiles: new Array<number>(21).fill(100) };
}

function latency(change: Change | null, pWorse: number | null, runs = 100): MetricComparison {
  const side = sideOf(runs);
  const sides = { baseline: side, candidate: side, histogram: null };
  return { metric: 'latency', kind: 'distribution', change, pWorse, superiority: 0.5, ...sides };
}

function success(held: readonly [number, number], change: Change, pWorse: number): MetricComparison {
  const sides = { baseline: { runs: 100, held: held[0] }, candidate: { runs: 100, held: held[1] } };
  return { metric: 'success', kind: 'rate', change, pWorse, superiority: null, ...sides };
}

const SAME = { estimate: 0, lower: -0.05, upper: 0.05 };

describe('one metric', () => {
  it('passes if the bound excludes a relevant worsening', () => {
    const { verdict, reasons } = decide([latency(SAME, 0.99)], POLICY);
    expect(verdict).toBe('passed');
    expect(reasons).toEqual(['latency: at most 5.0 % worse (it matters from 10.0 % on)']);
  });

  it('fails if the test finds it relevantly worse', () => {
    const { verdict, reasons } = decide([latency({ estimate: 0.3, lower: 0.15, upper: 0.4 }, 0.001)], POLICY);
    expect(verdict).toBe('failed');
    expect(reasons).toEqual(['latency: worse by 30.0 % (it matters from 10.0 % on)']);
  });

  it('is inconclusive if it can be neither shown nor excluded', () => {
    const unsure = [latency({ estimate: 0.08, lower: -0.02, upper: 0.2 }, 0.6)];
    expect(decide(unsure, POLICY).verdict).toBe('inconclusive');
    const unbounded = [latency({ estimate: 0, lower: null, upper: null }, 0.5)];
    expect(decide(unbounded, POLICY).verdict).toBe('inconclusive');
  });

  it('is inconclusive with too few runs, however clear they look', () => {
    const clear = { estimate: 3, lower: 2, upper: 4 };
    expect(decide([latency(clear, 0.0001, 19)], POLICY).verdict).toBe('inconclusive');
    expect(decide([latency(clear, 0.0001, 20)], POLICY).verdict).toBe('failed');
    expect(decide([latency(null, null, 100)], POLICY).verdict).toBe('inconclusive');
  });

  it('is inconclusive if the policy names it and no run measured it', () => {
    expect(decide([], POLICY).verdict).toBe('inconclusive');
  });

  it('decides nothing if the policy does not name it', () => {
    const policy = { ...POLICY, smallestEffects: { success: 0.03 } };
    const worse = latency({ estimate: 3, lower: 2, upper: 4 }, 0.0001);
    const decision = decide([worse, success([100, 100], SAME_SHARE, 1)], policy);
    expect(decision.verdict).toBe('passed');
    expect(decision.metrics.map(({ metric }) => metric)).toEqual(['success']);
  });
});

const SAME_SHARE = { estimate: 0, lower: -0.02, upper: 0.02 };

describe('a rate', () => {
  const policy: JudgePolicy = { ...POLICY, smallestEffects: { success: 0.03 } };

  it('fails if the test finds it lower and the difference is relevant', () => {
    const drop = { estimate: -0.06, lower: -0.12, upper: -0.01 };
    expect(decide([success([100, 94], drop, 0.01)], policy).verdict).toBe('failed');
  });

  it('does not fail for an irrelevant difference, however certain', () => {
    const drop = { estimate: -0.02, lower: -0.025, upper: -0.015 };
    expect(decide([success([100, 98], drop, 0.0001)], policy).verdict).toBe('passed');
  });

  it('passes a better candidate', () => {
    const rise = { estimate: 0.1, lower: 0.05, upper: 0.15 };
    const { verdict, reasons } = decide([success([80, 90], rise, 0.99)], policy);
    expect(verdict).toBe('passed');
    expect(reasons).toEqual(['success: better by at least 5.0 points (it matters from 3.0 points on)']);
  });

  it('is inconclusive if the baseline never reaches it', () => {
    const { verdict, reasons } = decide([success([0, 0], SAME_SHARE, 1)], policy);
    expect(verdict).toBe('inconclusive');
    expect(reasons).toEqual([
      'success: it holds in no run of the baseline, so there is nothing to compare with',
    ]);
  });
});

describe('several metrics', () => {
  const policy: JudgePolicy = { ...POLICY, smallestEffects: { success: 0.03, latency: 0.1 } };
  const steady = success([100, 100], SAME_SHARE, 1);

  it('pass only together', () => {
    expect(decide([steady, latency(SAME, 0.99)], policy).verdict).toBe('passed');
    const open = latency({ estimate: 0.05, lower: -0.1, upper: 0.2 }, 0.7);
    expect(decide([steady, open], policy).verdict).toBe('inconclusive');
  });

  it('fail if one of them fails, and say which', () => {
    const slow = latency({ estimate: 0.3, lower: 0.2, upper: 0.4 }, 0.001);
    const { verdict, reasons } = decide([steady, slow], policy);
    expect(verdict).toBe('failed');
    expect(reasons).toHaveLength(1);
    expect(reasons[0]).toMatch(/^latency: /);
  });

  it('each need more evidence to fail, because several tests find something by chance more often', () => {
    const doubtful = latency({ estimate: 0.15, lower: 0.101, upper: 0.2 }, 0.04);
    expect(decide([doubtful], POLICY).verdict).toBe('failed');
    expect(decide([steady, doubtful], policy).verdict).toBe('inconclusive');
  });
});

it('Holm’s procedure gives the textbook’s values, in the given order', () => {
  const adjusted = holm([0.01, 0.04, 0.03, 0.005]);
  [0.03, 0.06, 0.06, 0.02].forEach((value, index) => expect(adjusted[index]).toBeCloseTo(value, 12));
  expect(holm([0.9, 0.8])).toEqual([1, 1]);
  expect(holm([])).toEqual([]);
});

it('a worsening is above 0 for every metric, in whichever direction it gets worse', () => {
  const change = { estimate: -0.05, lower: -0.1, upper: null };
  expect(worsening('latency', change)).toEqual(change);
  expect(worsening('success', change)).toEqual({ estimate: 0.05, lower: null, upper: 0.1 });
});
