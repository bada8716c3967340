import type { WholeNumber } from '../scalars.ts';

/** What the judge measures of each run, by its name in `slipway.yaml` and in reports. */
export const METRIC_NAMES = [
  /** Whether the run ended as its input's expectation says. Default: whether it ended in `success`. */
  'success',
  /** Whether the run met all of its input's expectation. Without one: whether it ended in `success`. */
  'expectations',
  /** From the request to the agent's first output: a token, or a step's update. */
  'firstToken',
  /** From the request to the end of the run. */
  'latency',
  /** The answer's length. */
  'outputSize',
  /** The output tokens that the agent's messages report. */
  'outputTokens',
  /** The number that the agent, or a grader in it, gives the run. It is also recorded through the feedback link. */
  'score',
] as const;

/** @open */
export type MetricName = (typeof METRIC_NAMES)[number];

/** How a metric is compared. */
export interface MetricTraits {
  /** A share of runs (Fisher's exact test), or a number of each run (Mann-Whitney U test). */
  readonly kind: 'rate' | 'distribution';
  /** The direction that is worse. */
  readonly worse: 'lower' | 'higher';
  /**
   * How a change is expressed, and so what a smallest relevant effect means: `share`, the difference of two shares (0.03:
   * three points); `ratio`, relative to the baseline (0.15: 15 %); `difference`, in the metric's own unit.
   */
  readonly change: 'share' | 'ratio' | 'difference';
  readonly unit: 'ms' | 'characters' | 'tokens' | null;
}

export const METRICS: Readonly<Record<MetricName, MetricTraits>> = {
  success: { kind: 'rate', worse: 'lower', change: 'share', unit: null },
  expectations: { kind: 'rate', worse: 'lower', change: 'share', unit: null },
  firstToken: { kind: 'distribution', worse: 'higher', change: 'ratio', unit: 'ms' },
  latency: { kind: 'distribution', worse: 'higher', change: 'ratio', unit: 'ms' },
  outputSize: { kind: 'distribution', worse: 'higher', change: 'ratio', unit: 'characters' },
  outputTokens: { kind: 'distribution', worse: 'higher', change: 'ratio', unit: 'tokens' },
  score: { kind: 'distribution', worse: 'lower', change: 'difference', unit: null },
};

/** One side of a rate: its runs, and how many of them met the condition. */
export interface RateSide {
  readonly runs: WholeNumber;
  readonly held: WholeNumber;
}

/** One side of a distribution, with the values for a plot. */
export interface DistributionSide {
  readonly runs: WholeNumber;
  readonly mean: number;
  /** The 0th, 5th, 10th, … and 100th percentiles: 21 values, from the smallest to the largest. */
  readonly quantiles: readonly number[];
}

/** A change from baseline to candidate, with its interval. A bound is `null` if there are too few runs. */
export interface Change {
  readonly estimate: number;
  readonly lower: number | null;
  readonly upper: number | null;
}

/** What the statistics say about one metric, before the judge decides. */
export type MetricComparison = {
  readonly metric: MetricName;
  /** `null`: a side has no runs that count. */
  readonly change: Change | null;
  /**
   * The probability of this observation, or a worse one, if the candidate were no worse. For a rate that means equal to
   * the baseline (Fisher, one-sided); for a distribution, worse by no more than the smallest relevant effect (Mann-Whitney
   * U, one-sided). `null`: a side has no runs that count, or the distribution has no smallest relevant effect.
   */
  readonly pWorse: number | null;
  /** The probability that a run of the candidate has the larger number, ties counted half. `null`: it is a rate. */
  readonly superiority: number | null;
} & (
  | { readonly kind: 'rate'; readonly baseline: RateSide; readonly candidate: RateSide }
  | {
      readonly kind: 'distribution';
      readonly baseline: DistributionSide | null;
      readonly candidate: DistributionSide | null;
      readonly histogram: Histogram | null;
    }
);

/** How many runs of each side are in each bin. The first and last bins include all values beyond them. */
export interface Histogram {
  /** The bins' edges: one more than there are bins. */
  readonly edges: readonly number[];
  readonly baseline: readonly WholeNumber[];
  readonly candidate: readonly WholeNumber[];
}
