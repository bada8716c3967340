import type { ErrorCode } from '../errors.ts';
import type { Instant, WholeNumber } from '../scalars.ts';
import type { MetricComparison } from './metric.ts';
import type { JudgePolicy } from './settings.ts';
import type { JudgeVerdict, MetricVerdict } from './verdict.ts';

/** The two sides of a comparison: what serves, and what may replace it. */
export const SIDES = ['baseline', 'candidate'] as const;
export type Side = (typeof SIDES)[number];

/** One metric of a report. */
export interface MetricReport {
  readonly comparison: MetricComparison;
  /** `null`: the metric is reported, and decides nothing. */
  readonly smallestEffect: number | null;
  /** `null`: it decides nothing. */
  readonly verdict: MetricVerdict | null;
  /** One sentence. */
  readonly reason: string;
}

/** How the counted runs of one side ended. */
export interface SideReport {
  readonly agentUrl: string;
  readonly runs: WholeNumber;
  readonly ended: Readonly<Record<'success' | 'error' | 'interrupted' | 'timeout', WholeNumber>>;
  /** Runs that were started again because the agent could not be reached. */
  readonly repeated: WholeNumber;
  /** How many verdicts were recorded on the runs' traces, and how many could not be. */
  readonly feedback: { readonly recorded: WholeNumber; readonly lost: WholeNumber };
  /** The most frequent reasons why runs did not meet their expectations, or got no score. */
  readonly failures: readonly { readonly reason: string; readonly runs: WholeNumber }[];
}

/** Why the judge could not run. */
export interface JudgeError {
  /** The side that failed. `null`: neither. */
  readonly side: Side | null;
  readonly code: ErrorCode;
  readonly message: string;
}

/** What the judge found (docs/judge.md): a few kilobytes, so that a workflow can carry it. */
export interface JudgeReport {
  readonly verdict: JudgeVerdict;
  /** What the verdict is based on: one sentence each. */
  readonly reasons: readonly string[];
  /** Why the judge could not run. */
  readonly error: JudgeError | null;
  readonly policy: JudgePolicy;
  /** Where the inputs are from, how many were run, and how often each on either side. */
  readonly inputs: { readonly from: string; readonly count: WholeNumber; readonly repetitions: WholeNumber };
  /**
   * The same seed draws the same sample and order.
   * @asType integer
   */
  readonly seed: number;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly sides: Readonly<Record<Side, SideReport>>;
  /** Every measured metric: first those that decide. */
  readonly metrics: readonly MetricReport[];
}

/** One counted run, reduced to the compared values, so that thousands can be kept. */
export interface Trial {
  /** Its position in the plan, which is the same in every attempt of a judgement. */
  readonly place: number;
  readonly side: Side;
  readonly status: keyof SideReport['ended'];
  /** Whether it ended with the expected status. */
  readonly ended: boolean;
  /** Whether all expectations were met. */
  readonly held: boolean;
  /** If not, the first reason. */
  readonly reason: string | null;
  readonly latencyMs: number;
  readonly firstTokenMs: number | null;
  readonly outputSize: number;
  readonly outputTokens: number | null;
  readonly score: number | null;
  /** Why the evaluator gave no score. Absent: it gave one, or was not asked. */
  readonly noScore?: string;
  /** How many times it was started again because the agent could not be reached. */
  readonly repeated: number;
  /** Whether the verdict was recorded through the feedback link; `null` if that was not asked for. */
  readonly feedback: boolean | null;
}
