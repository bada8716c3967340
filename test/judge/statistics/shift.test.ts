import { describe, expect, it } from 'vitest';

import { mannWhitney } from '../../../src/judge/statistics/mannWhitney.ts';
import { shiftOf } from '../../../src/judge/statistics/shift.ts';
import { SCIPY, sorted } from './scipyFixtures.ts';

describe('the shift between two samples', () => {
  it('is the median of all pairwise differences', () => {
    for (const { baseline, candidate, hodgesLehmann } of SCIPY.mannWhitney) {
      expect(shiftOf(sorted(baseline), sorted(candidate), 0.95).estimate).toBeCloseTo(hodgesLehmann, 8);
    }
  });

  it('has the bounds that one finds by inverting SciPy’s test', () => {
    const untied = SCIPY.mannWhitney.filter(({ bounds }) => bounds !== null);
    expect(untied.length).toBeGreaterThan(15);
    for (const { baseline, candidate, bounds } of untied) {
      const { lower, upper } = shiftOf(sorted(baseline), sorted(candidate), 0.95);
      expect(lower).toBeCloseTo(bounds!.lower, 8);
      expect(upper).toBeCloseTo(bounds!.upper, 8);
    }
  });

  it('lies beyond a value exactly where the test rejects that value', () => {
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

  it('is open where there are too few values to bound it', () => {
    expect(shiftOf(sorted([1, 2]), sorted([2, 4]), 0.95)).toEqual({
      estimate: 1.5,
      lower: null,
      upper: null,
    });
  });

  it('takes samples whose pairs would not fit into memory', () => {
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
