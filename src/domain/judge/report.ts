import type { ErrorCode } from '../errors.ts';
import type { MetricComparison, MetricName } from './metric.ts';
import type { JudgePolicy } from './policy.ts';
import type { JudgeVerdict, MetricVerdict } from './verdict.ts';

/** The two sides of a comparison: what serves, and what may take its place. */
export const SIDES = ['baseline', 'candidate'] as const;
export type Side = (typeof SIDES)[number];

/** One metric of a report. */
export interface MetricReport {
  readonly comparison: MetricComparison;
  /** `null`: the metric is reported and decides nothing. */
  readonly smallestEffect: number | null;
  /** `null` where it decides nothing. */
  readonly verdict: MetricVerdict | null;
  /** One sentence. */
  readonly reason: string;
}

/** How the counted runs of one side ended. */
export interface SideReport {
  readonly agentUrl: string;
  readonly runs: number;
  readonly ended: Readonly<Record<'success' | 'error' | 'interrupted' | 'timeout', number>>;
  /** Runs that were begun again because the agent could not be reached for a while. */
  readonly repeated: number;
  /** Verdicts that were recorded through feedback links, and those that could not be. */
  readonly feedback: { readonly recorded: number; readonly lost: number };
  /** The most frequent reasons for which runs did not hold, with how often each came up. */
  readonly failures: readonly { readonly reason: string; readonly runs: number }[];
}

/** Why the judge could not do its work. */
export interface JudgeError {
  /** Whose fault it is; `null`: neither side's. */
  readonly side: Side | null;
  readonly code: ErrorCode;
  readonly message: string;
}

/**
 * What the judge found: JSON, and small (some kilobytes, whatever the number of runs), so that a workflow may carry it.
 */
export interface JudgeReport {
  readonly verdict: JudgeVerdict;
  /** One sentence each: what the verdict rests on. */
  readonly reasons: readonly string[];
  readonly error: JudgeError | null;
  readonly policy: JudgePolicy;
  /** The inputs that were run: how many, where from, and how often each on either side. */
  readonly inputs: { readonly from: string; readonly count: number; readonly repetitions: number };
  /** What drew the sample and the order: the same seed draws the same. */
  readonly seed: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly endedAt: string;
  readonly sides: Readonly<Record<Side, SideReport>>;
  /** Every metric that was measured, those that decide first. */
  readonly metrics: readonly MetricReport[];
}

/** A metric of a report, by name. */
export function metricOf(report: JudgeReport, name: MetricName): MetricReport | undefined {
  return report.metrics.find(({ comparison }) => comparison.metric === name);
}
