import { answerText, type Expectation, judge, type ObservedRun, valueAt } from '../domain/check/check.ts';
import type { Side } from '../domain/judge/report.ts';

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

/** What a run measured, without its place in the judgement. */
export type Measured = Omit<Trial, 'place' | 'side' | 'repeated' | 'feedback'>;

/** Measures a run by what was expected of it. */
export function measure(
  run: ObservedRun,
  firstTokenMs: number | null,
  expect: Expectation,
  scorePath: string | undefined,
): Measured {
  const { passed, reasons } = judge(expect, run);
  const score = scorePath === undefined ? undefined : valueAt(run.values, scorePath);
  return {
    status: run.status,
    ended: run.status === (expect.status ?? 'success'),
    held: passed,
    reason: reasons[0] ?? null,
    latencyMs: run.latencyMs,
    firstTokenMs,
    outputSize: answerText(run.values).length,
    outputTokens: outputTokens(run.values),
    score: typeof score === 'number' && Number.isFinite(score) ? score : null,
  };
}

/** The output tokens that the messages of a run report, in the field in which chat models have them; `null`: none do. */
function outputTokens(values: unknown): number | null {
  const messages = valueAt(values, 'messages');
  if (!Array.isArray(messages)) return null;
  const counts = messages
    .map((message: unknown) => valueAt(message, 'usage_metadata.output_tokens'))
    .filter((count) => typeof count === 'number');
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
}
