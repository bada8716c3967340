import { type MetricComparison, METRICS } from '../../domain/judge/metric.ts';
import type { JudgeReport, MetricReport } from '../../domain/judge/report.ts';
import { changeText } from '../../domain/judge/verdict.ts';

/** One metric of a report, in words. */
export interface MetricFigures {
  readonly metric: string;
  readonly baseline: string;
  readonly candidate: string;
  /** The change with its bounds. */
  readonly change: string;
  /** What matters; a dash where the metric decides nothing. */
  readonly limit: string;
  readonly verdict: string;
}

const NOTHING = '–';
const MEDIAN = 10;

/** A report's metrics in words, in its order. */
export function figuresOf({ metrics }: JudgeReport): MetricFigures[] {
  return metrics.map(({ comparison, smallestEffect, verdict }) => ({
    metric: comparison.metric,
    ...sidesOf(comparison),
    change: changeOf(comparison),
    limit: smallestEffect === null ? NOTHING : changeText(comparison.metric, smallestEffect),
    verdict: verdict ?? NOTHING,
  }));
}

/** How many runs, how sure, and drawn by what: one sentence. */
export function basisOf({ inputs, sides, policy, seed }: JudgeReport): string {
  const { count, repetitions, from } = inputs;
  const runs = `${sides.baseline.runs} runs of the baseline and ${sides.candidate.runs} of the candidate`;
  const confidence = Number((policy.confidence * 100).toPrecision(4));
  return `${runs}: ${count} inputs of ${from}, ${repetitions} each; every bound at ${confidence} %; seed ${seed}`;
}

/** Both sides' distribution, one character for each bin of the histogram; `null` for a rate. */
export function plotOf({ comparison }: MetricReport): { baseline: string; candidate: string } | null {
  if (comparison.kind === 'rate' || comparison.histogram === null) return null;
  const { baseline, candidate } = comparison.histogram;
  return { baseline: bars(baseline), candidate: bars(candidate) };
}

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

function bars(counts: readonly number[]): string {
  const most = Math.max(1, ...counts);
  const bar = (count: number): string =>
    count === 0 ? ' ' : (BARS[Math.ceil((count / most) * BARS.length) - 1] ?? ' ');
  return counts.map(bar).join('');
}

function sidesOf(comparison: MetricComparison): { baseline: string; candidate: string } {
  if (comparison.kind === 'rate') {
    const share = ({ held, runs }: { held: number; runs: number }): string =>
      runs === 0 ? NOTHING : `${((held / runs) * 100).toFixed(1)} % (${held}/${runs})`;
    return { baseline: share(comparison.baseline), candidate: share(comparison.candidate) };
  }
  const { unit } = METRICS[comparison.metric];
  const median = (side: typeof comparison.baseline): string => {
    const value = side?.quantiles[MEDIAN];
    return value === undefined ? NOTHING : `${rounded(value)}${unit === 'ms' ? ' ms' : ''}`;
  };
  return { baseline: median(comparison.baseline), candidate: median(comparison.candidate) };
}

function changeOf({ metric, change }: MetricComparison): string {
  if (change === null) return NOTHING;
  const bound = (value: number | null): string => (value === null ? 'open' : signed(metric, value));
  return `${signed(metric, change.estimate)} (${bound(change.lower)} to ${bound(change.upper)})`;
}

function signed(metric: MetricComparison['metric'], change: number): string {
  const text = changeText(metric, change);
  return change > 0 ? `+${text}` : text;
}

function rounded(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}
