import type { DistributionSide, Histogram } from '../../domain/judge/metric.ts';

/** Percentiles from the 0th to the 100th in steps of 5. */
const QUANTILES = 20;
const BINS = 20;
/** The share of the numbers on either end that does not stretch a histogram. */
const TAIL = 0.01;

/** What is kept of one side's numbers, of which there is at least one. */
export function summarize(values: readonly number[]): DistributionSide {
  const sorted = Float64Array.from(values).sort();
  return {
    runs: values.length,
    mean: values.reduce((sum, value) => sum + value, 0) / values.length,
    quantiles: Array.from({ length: QUANTILES + 1 }, (_, index) => quantile(sorted, index / QUANTILES)),
  };
}

/** Both sides over the same bins, between the outermost percentiles of both together. */
export function histogramOf(baseline: readonly number[], candidate: readonly number[]): Histogram {
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

/** The quantile of sorted numbers, interpolated between neighbors (the default of NumPy and R). */
function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? 0;
  const above = sorted[Math.ceil(place)] ?? below;
  return below + (above - below) * (place - Math.floor(place));
}
