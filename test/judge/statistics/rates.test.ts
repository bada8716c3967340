import { describe, expect, it } from 'vitest';

import { clopperPearson, fisherFewer, rateChange } from '../../../src/judge/statistics/rates.ts';
import { SCIPY } from './scipyFixtures.ts';

describe('Fisher’s exact test', () => {
  it('gives the published values: the lady who tastes tea, and the twins of criminals', () => {
    expect(fisherFewer({ runs: 4, held: 3 }, { runs: 4, held: 1 })).toBeCloseTo(17 / 70, 12);
    expect(fisherFewer({ runs: 4, held: 4 }, { runs: 4, held: 0 })).toBeCloseTo(1 / 70, 12);
    expect(fisherFewer({ runs: 13, held: 10 }, { runs: 17, held: 2 })).toBeCloseTo(0.0004652, 7);
  });

  it('agrees with SciPy', () => {
    for (const { baseline, candidate, fisherFewer: p } of SCIPY.rates) {
      expect(fisherFewer(baseline, candidate) / p).toBeCloseTo(1, 8);
    }
  });

  it('finds nothing where both sides always hold, or never', () => {
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

  it('give the published interval for none in ten', () => {
    expect(clopperPearson({ runs: 10, held: 0 }, 0.975).upper).toBeCloseTo(0.3085, 4);
  });
});

describe('the change of a rate', () => {
  it('is told as candidate less baseline, within bounds that open as runs get fewer', () => {
    const of = (runs: number) => rateChange({ runs, held: runs * 0.9 }, { runs, held: runs * 0.8 }, 0.95);
    const [many, few] = [of(1000), of(50)];
    expect(many.estimate).toBeCloseTo(-0.1, 12);
    expect(many.lower).toBeGreaterThan(few.lower!);
    expect(many.upper).toBeLessThan(few.upper!);
    expect(many.upper).toBeLessThan(0);
  });

  it('has room for a worsening that none of the runs showed', () => {
    const { estimate, lower, upper } = rateChange({ runs: 200, held: 200 }, { runs: 200, held: 200 }, 0.95);
    expect(estimate).toBe(0);
    // Three in 200: the rule of three.
    expect(lower).toBeCloseTo(-(1 - 0.05 ** (1 / 200)), 9);
    expect(upper).toBeCloseTo(1 - 0.05 ** (1 / 200), 9);
  });
});
