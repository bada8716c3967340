import type { ObservedRun } from '../check/check.ts';
import type { Side } from './report.ts';

/** One counted run, reduced to the compared values, so that thousands can be kept. */
export interface Trial {
  /** Its position in the plan, which is the same in every attempt of a judgement. */
  readonly place: number;
  readonly side: Side;
  readonly status: ObservedRun['status'];
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
