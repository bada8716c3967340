import { describe, expect, it } from 'vitest';

import { criticalU, mannWhitney } from '../../../src/judge/statistics/mannWhitney.ts';
import { SCIPY, sorted } from './scipyFixtures.ts';

describe('the Mann-Whitney U test', () => {
  it('agrees with SciPy, exact and approximated, with ties and without', () => {
    for (const { baseline, candidate, u, pLarger } of SCIPY.mannWhitney) {
      const result = mannWhitney(sorted(baseline), sorted(candidate));
      expect(result.u).toBe(u);
      expect(result.pLarger / pLarger).toBeCloseTo(1, 9);
    }
  });

  it('finds nothing in values that are all equal', () => {
    expect(mannWhitney(sorted([7, 7, 7]), sorted([7, 7, 7]))).toEqual({ u: 4.5, pLarger: 1 });
  });

  it('answers for samples of very different sizes', () => {
    const many = Array.from({ length: 500 }, (_, index) => index);
    expect(mannWhitney(sorted(many), sorted([1000])).u).toBe(500);
    expect(mannWhitney(sorted(many), sorted([-1])).u).toBe(0);
  });
});

describe('the critical values of U', () => {
  it.each([
    [0.05, [4, 15, 27, 42, 72, 138]],
    [0.025, [2, 13, 23, 37, 64, 127]],
    [0.01, [1, 9, 19, 31, 56, 114]],
    [0.005, [0, 7, 16, 27, 51, 105]],
  ])('are those of the published tables at the one-sided level %s', (level, published) => {
    expect([5, 8, 10, 12, 15, 20].map((n) => criticalU(n, n, level))).toEqual(published);
  });

  it('are those of the published table for samples of different sizes', () => {
    const published = [8, 14, 20, 27, 34, 41, 48, 55, 62, 69, 76, 83, 90, 98, 105, 112, 119, 127];
    expect(published.map((_, index) => criticalU(index + 3, 20, 0.025))).toEqual(published);
  });

  it('are none where the samples are too small to reject anything', () => {
    expect(criticalU(3, 3, 0.025)).toBe(-1);
    expect(criticalU(1, 30, 0.01)).toBe(-1);
  });
});
