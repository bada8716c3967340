import {
  type Change,
  type DistributionSide,
  type Histogram,
  type MetricComparison,
  type MetricName,
  METRICS,
  type RateSide,
} from '../../domain/judge/metric.ts';
import { quantile } from '../../domain/quantile.ts';
import { incbi, lgam, mannWhitney, shiftOf, type Sorted } from './mannWhitney.ts';

/** Compares the shares of two sides. */
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
 * Compares the values of two sides. A ratio is a shift of logarithms, for which values below 1 count as 1.
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

/** Tests for a shift of more than the smallest effect, which is first subtracted from the candidate's values. */
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

/** The sorted values, in the scale in which a change is a shift. */
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

/** Percentiles from the 0th to the 100th in steps of 5. */
const QUANTILES = 20;
const BINS = 20;
/** The share of values at either end that does not widen a histogram. */
const TAIL = 0.01;

/** A summary of one side's values; `null` if there are none. */
function sideOf(values: readonly number[]): DistributionSide | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  return {
    runs: values.length,
    mean: values.reduce((sum, value) => sum + value, 0) / values.length,
    quantiles: Array.from({ length: QUANTILES + 1 }, (_, index) => quantile(sorted, index / QUANTILES)),
  };
}

/** Both sides over the same bins, between the outermost percentiles of both together. */
function histogramOf(baseline: readonly number[], candidate: readonly number[]): Histogram {
  const sorted = Float64Array.from([...baseline, ...candidate]).sort();
  const low = quantile(sorted, TAIL);
  const width = (quantile(sorted, 1 - TAIL) - low) / BINS;
  const count = (values: readonly number[]): number[] => {
    const bins = new Array<number>(BINS).fill(0);
    for (const value of values) {
      const bin = width === 0 ? 0 : Math.floor((value - low) / width);
      const within = Math.max(0, Math.min(BINS - 1, bin));
      bins[within] = (bins[within] ?? 0) + 1;
    }
    return bins;
  };
  return {
    edges: Array.from({ length: BINS + 1 }, (_, index) => low + index * width),
    baseline: count(baseline),
    candidate: count(candidate),
  };
}

/** Fisher's exact test, one-sided: the probability of so few successes of the candidate at equal rates. */
export function fisherFewer(baseline: RateSide, candidate: RateSide): number {
  const held = baseline.held + candidate.held;
  const all = baseline.runs + candidate.runs;
  const ways = logChoose(all, held);
  let sum = 0;
  for (let k = Math.max(0, held - baseline.runs); k <= candidate.held; k++) {
    sum += Math.exp(logChoose(candidate.runs, k) + logChoose(baseline.runs, held - k) - ways);
  }
  return Math.min(1, sum);
}

/** The exact Clopper-Pearson bounds: each excludes the true share with a probability of at most `1 - confidence`. */
export function clopperPearson(
  { held, runs }: RateSide,
  confidence: number,
): { lower: number; upper: number } {
  return {
    lower: held === 0 ? 0 : incbi(held, runs - held + 1, 1 - confidence),
    upper: held === runs ? 1 : incbi(held + 1, runs - held, confidence),
  };
}

/**
 * The difference of two shares, candidate - baseline, with bounds by Newcombe's method from those of Clopper and
 * Pearson. They tend to be too wide rather than too narrow; `docs/judge.md` shows how often they hold.
 */
export function rateChange(baseline: RateSide, candidate: RateSide, confidence: number): Change {
  const [before, after] = [baseline.held / baseline.runs, candidate.held / candidate.runs];
  const around = clopperPearson(baseline, confidence);
  const aroundAfter = clopperPearson(candidate, confidence);
  const estimate = after - before;
  return {
    estimate,
    lower: estimate - Math.hypot(after - aroundAfter.lower, around.upper - before),
    upper: estimate + Math.hypot(aroundAfter.upper - after, before - around.lower),
  };
}

function logChoose(n: number, k: number): number {
  return lgam(n + 1) - lgam(k + 1) - lgam(n - k + 1);
}
