import { describe, expect, it } from 'vitest';

import { criticalU, mannWhitney, shiftOf } from '../../../src/judge/statistics/mannWhitney.ts';
import { SCIPY, sorted } from './scipyFixtures.ts';

describe('the Mann-Whitney U test', () => {
  it('agrees with SciPy, exact and approximated, with ties and without', () => {
    for (const { baseline, candidate, u, pLarger } of SCIPY.mannWhitney) {
      const result = mannWhitney(sorted(baseline), sorted(candidate));
      expect(result.u).toBe(u);
      expect(result.pLarger / pLarger).toBeCloseTo(1, 9);
    }
  });

  it('finds nothing in equal values', () => {
    expect(mannWhitney(sorted([7, 7, 7]), sorted([7, 7, 7]))).toEqual({ u: 4.5, pLarger: 1 });
  });
});

describe('the critical values of U', () => {
  it.each([
    [0.05, [4, 15, 27, 42, 72, 138]],
    [0.025, [2, 13, 23, 37, 64, 127]],
    [0.01, [1, 9, 19, 31, 56, 114]],
    [0.005, [0, 7, 16, 27, 51, 105]],
  ])('match the published tables at the one-sided level %s', (level, published) => {
    expect([5, 8, 10, 12, 15, 20].map((n) => criticalU(n, n, level))).toEqual(published);
  });

  it('match the published table for samples of different sizes', () => {
    const published = [8, 14, 20, 27, 34, 41, 48, 55, 62, 69, 76, 83, 90, 98, 105, 112, 119, 127];
    expect(published.map((_, index) => criticalU(index + 3, 20, 0.025))).toEqual(published);
  });

  it('do not exist if the samples are too small to reject anything', () => {
    expect(criticalU(3, 3, 0.025)).toBe(-1);
    expect(criticalU(1, 30, 0.01)).toBe(-1);
  });
});

describe('the shift between two samples', () => {
  it('is the median of all pairwise differences', () => {
    for (const { baseline, candidate, hodgesLehmann } of SCIPY.mannWhitney) {
      expect(shiftOf(sorted(baseline), sorted(candidate), 0.95).estimate).toBeCloseTo(hodgesLehmann, 8);
    }
  });

  it('has the bounds of SciPy’s inverted test', () => {
    const untied = SCIPY.mannWhitney.filter(({ bounds }) => bounds !== null);
    expect(untied.length).toBeGreaterThan(15);
    for (const { baseline, candidate, bounds } of untied) {
      const { lower, upper } = shiftOf(sorted(baseline), sorted(candidate), 0.95);
      expect(lower).toBeCloseTo(bounds!.lower, 8);
      expect(upper).toBeCloseTo(bounds!.upper, 8);
    }
  });

  it('excludes a value exactly if the test rejects that value', () => {
    for (const { baseline, candidate } of SCIPY.mannWhitney.slice(0, 18)) {
      const [before, after] = [sorted(baseline), sorted(candidate)];
      const lower = shiftOf(before, after, 0.95).lower!;
      const margin = Math.abs(lower) * 1e-9;
      const pAt = (shift: number) =>
        mannWhitney(
          before,
          after.map((value) => value - shift),
        ).pLarger;
      expect(pAt(lower - margin)).toBeLessThanOrEqual(0.05);
      expect(pAt(lower + margin)).toBeGreaterThan(0.05);
    }
  });

  it('is unbounded with too few values', () => {
    expect(shiftOf(sorted([1, 2]), sorted([2, 4]), 0.95)).toEqual({
      estimate: 1.5,
      lower: null,
      upper: null,
    });
  });

  it('handles samples whose pairs would not fit into memory', () => {
    const values = Array.from({ length: 50_000 }, (_, index) => index / 1000);
    const { estimate, lower, upper } = shiftOf(
      sorted(values),
      sorted(values.map((value) => value + 5)),
      0.95,
    );
    expect(estimate).toBeCloseTo(5, 6);
    expect(lower).toBeLessThan(5);
    expect(upper).toBeGreaterThan(5);
  });
});
