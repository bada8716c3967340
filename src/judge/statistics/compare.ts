import {
  type Change,
  type DistributionSide,
  type MetricComparison,
  type MetricName,
  METRICS,
  type RateSide,
} from '../../domain/judge/metric.ts';
import { histogramOf, summarize } from './distribution.ts';
import { mannWhitney, type Sorted } from './mannWhitney.ts';
import { fisherFewer, rateChange } from './rates.ts';
import { shiftOf } from './shift.ts';

/** Compares how often something held. */
export function compareRates(
  metric: MetricName,
  baseline: RateSide,
  candidate: RateSide,
  { confidence }: { readonly confidence: number },
): MetricComparison {
  const counts = baseline.runs > 0 && candidate.runs > 0;
  return {
    metric,
    kind: 'rate',
    baseline,
    candidate,
    change: counts ? rateChange(baseline, candidate, confidence) : null,
    pWorse: counts ? fisherFewer(baseline, candidate) : null,
    superiority: null,
  };
}

/**
 * Compares the numbers that runs gave. A ratio is the shift of the logarithms; numbers below 1 (a millisecond, a
 * character, a token) count as 1 there.
 *
 * @param smallestEffect - absent: the metric decides nothing.
 */
export function compareDistributions(
  metric: MetricName,
  baseline: readonly number[],
  candidate: readonly number[],
  {
    confidence,
    smallestEffect,
  }: { readonly confidence: number; readonly smallestEffect?: number | undefined },
): MetricComparison {
  const sides = { baseline: sideOf(baseline), candidate: sideOf(candidate) };
  if (sides.baseline === null || sides.candidate === null) {
    return {
      metric,
      kind: 'distribution',
      ...sides,
      change: null,
      pWorse: null,
      superiority: null,
      histogram: null,
    };
  }
  const [before, after] = [scaled(metric, baseline), scaled(metric, candidate)];
  const pairs = baseline.length * candidate.length;
  return {
    metric,
    kind: 'distribution',
    ...sides,
    change: unscaled(metric, shiftOf(before, after, confidence)),
    pWorse: smallestEffect === undefined ? null : pWorse(metric, before, after, smallestEffect),
    superiority: mannWhitney(before, after).u / pairs,
    histogram: histogramOf(baseline, candidate),
  };
}

/** The test of a shift beyond what does not matter: that much is taken off the candidate first. */
function pWorse(metric: MetricName, before: Sorted, after: Sorted, smallestEffect: number): number {
  const { worse, change } = METRICS[metric];
  const allowed = change === 'ratio' ? Math.log1p(smallestEffect) : smallestEffect;
  if (worse === 'higher')
    return mannWhitney(
      before,
      after.map((value) => value - allowed),
    ).pLarger;
  return mannWhitney(
    after.map((value) => value + allowed),
    before,
  ).pLarger;
}

/** The numbers in the scale in which a change is a shift, sorted. */
function scaled(metric: MetricName, values: readonly number[]): Sorted {
  const sorted = Float64Array.from(values).sort();
  return METRICS[metric].change === 'ratio' ? sorted.map((value) => Math.log(Math.max(1, value))) : sorted;
}

function unscaled(metric: MetricName, shift: Change): Change {
  if (METRICS[metric].change !== 'ratio') return shift;
  const { estimate, lower, upper } = shift;
  return {
    estimate: Math.expm1(estimate),
    lower: lower === null ? null : Math.expm1(lower),
    upper: upper === null ? null : Math.expm1(upper),
  };
}

function sideOf(values: readonly number[]): DistributionSide | null {
  return values.length === 0 ? null : summarize(values);
}
