import type { ObservedRun } from '../check/check.ts';
import type { Side } from './report.ts';

/** One run that counts, reduced to what is compared: small, so that thousands can be kept. */
export interface Trial {
  /** Its place in the plan: the same in every attempt at the same judgement. */
  readonly place: number;
  readonly side: Side;
  readonly status: ObservedRun['status'];
  /** Whether it ended in the status that was expected. */
  readonly ended: boolean;
  /** Whether everything that was expected held. */
  readonly held: boolean;
  /** Why not: the first reason. */
  readonly reason: string | null;
  readonly latencyMs: number;
  readonly firstTokenMs: number | null;
  readonly outputSize: number;
  readonly outputTokens: number | null;
  readonly score: number | null;
  /** How often it was begun again because the agent was away. */
  readonly repeated: number;
  /** Whether the verdict was recorded through the feedback link; `null`: it was not to be. */
  readonly feedback: boolean | null;
}
