import { readFileSync } from 'node:fs';

import type { RateSide } from '../../../src/domain/judge/metric.ts';

/** SciPy's results for two samples. */
export interface MannWhitneyCase {
  readonly baseline: readonly number[];
  readonly candidate: readonly number[];
  readonly u: number;
  readonly pLarger: number;
  readonly hodgesLehmann: number;
  /** One-sided at 95 % each; `null` if there are ties. */
  readonly bounds: { readonly lower: number; readonly upper: number } | null;
}

/** SciPy's results for two rates. */
export interface RateCase {
  readonly baseline: RateSide;
  readonly candidate: RateSide;
  readonly fisherFewer: number;
  /** Of the baseline, one-sided at 95 % each. */
  readonly clopperPearson: { readonly lower: number; readonly upper: number };
}

/** SciPy's results, as written by `fixtures/makeFixtures.py`. */
export const SCIPY = JSON.parse(readFileSync(new URL('fixtures/scipy.json', import.meta.url), 'utf8')) as {
  readonly mannWhitney: readonly MannWhitneyCase[];
  readonly rates: readonly RateCase[];
};

/** A sample in the form that the statistics accept. */
export function sorted(values: readonly number[]): Float64Array {
  return Float64Array.from(values).sort();
}
