import { setTimeout as sleep } from 'node:timers/promises';

import type { Agent } from 'undici';

import { askEvaluator } from '../clients/evaluator.ts';
import { type ObservedStream, observeRun } from '../clients/observeRun.ts';
import type { FeedbackClient } from '../clients/feedback.ts';
import type { RunApiClient } from '../clients/runApi.ts';
import { isAgentAway, ServiceError } from '../clients/serviceError.ts';
import { ANSWER_CHECKS } from '../config/answerSchema.ts';
import { secretFor } from '../config/secretOrigins.ts';
import { answerText, valueAt } from '../domain/check/answer.ts';
import type { ObservedRun } from '../domain/check/check.ts';
import { type Expectation, withReference } from '../domain/check/expectation.ts';
import { judge } from '../domain/check/judge.ts';
import { trajectoryOf } from '../domain/check/trajectory.ts';
import { type ErrorCode, SlipwayError } from '../domain/errors.ts';
import { PASSING } from '../domain/failure.ts';
import type { Side, Trial } from '../domain/judge/report.ts';
import type { JudgeSettings } from '../domain/judge/settings.ts';
import type { Input } from './inputs.ts';

/** One side of a judgement could not be called, which says nothing about the candidate. */
export class AgentAway extends Error {
  readonly side: Side;
  readonly code: ErrorCode;

  constructor(side: Side, { code, message, hint }: SlipwayError) {
    super(hint === undefined ? message : `${message}; ${hint}`);
    this.name = 'AgentAway';
    this.side = side;
    this.code = code;
  }
}

/** What a run on one side needs, beside its input. */
export interface JudgedAgent {
  readonly side: Side;
  readonly client: RunApiClient;
  readonly feedback: FeedbackClient;
  readonly evaluators: Evaluators;
}

/** What calling the evaluator needs. */
export interface Evaluators {
  /** The connection pool. */
  readonly pool: Agent;
  /** Where the reference to its secret is resolved. Default: this process's. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** The shortest time between two calls to an agent that does not answer, in milliseconds. */
const LOOK_EVERY_MS = 500;
const LOOK_TIMEOUT_MS = 5_000;
const FEEDBACK_TIMEOUT_MS = 10_000;

/**
 * Makes one run and measures it. A run that is lost while its agent answers counts as an error. One that is lost
 * because the agent is away or asks to slow down is repeated, within the settings' patience.
 * @throws AgentAway when the patience is over, or if the agent rejects the request.
 */
export async function makeTrial(
  agent: JudgedAgent,
  question: Input,
  settings: JudgeSettings,
  signal: AbortSignal,
): Promise<Omit<Trial, 'place' | 'side'>> {
  const { input, expect = settings.expect ?? {}, reference } = question;
  const expected = reference === undefined ? expect : withReference(expect, reference);
  const started = performance.now();
  for (let repeated = 0; ; repeated++) {
    const seen = await attempt(agent, input, settings, signal);
    if ('away' in seen) {
      if (performance.now() - started > settings.patienceMs + settings.runTimeoutMs) {
        throw new AgentAway(agent.side, seen.away);
      }
      continue;
    }
    const unscored = measure(seen.run, seen.firstOutputMs, expected, settings.scorePath);
    const scored = unscored.ended ? await scoreOf(agent, question, seen, settings, signal) : {};
    const measured = { ...unscored, ...scored };
    return { ...measured, repeated, feedback: await recordVerdict(agent, seen, measured, settings, signal) };
  }
}

/** One attempt at a run: what was observed, or why it must be repeated. */
async function attempt(
  agent: JudgedAgent,
  input: Input['input'],
  settings: JudgeSettings,
  signal: AbortSignal,
): Promise<ObservedStream | { readonly away: SlipwayError }> {
  const { assistant, runTimeoutMs: timeoutMs, feedbackKey } = settings;
  const started = performance.now();
  try {
    return await observeRun(
      agent.client,
      {
        assistant,
        input,
        timeoutMs,
        showsFirstOutput: true,
        feedbackKey,
      },
      signal,
    );
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SlipwayError)) throw error;
    if (!PASSING.has(error.code)) throw new AgentAway(agent.side, error);
    const latencyMs = performance.now() - started;
    if (error.code === 'SLIPWAY_RATE_LIMITED') {
      const asked = error instanceof ServiceError ? error.retryAfterMs : undefined;
      await sleep(Math.min(asked ?? LOOK_EVERY_MS, settings.patienceMs), undefined, { signal });
      return { away: error };
    }
    const wasThere = await untilThere(agent, error, settings.patienceMs, signal);
    if (!wasThere || error.code === 'SLIPWAY_UNREACHABLE') return { away: error };
    const run = { status: 'error', values: null, error: error.message, latencyMs } as const;
    return { run, runId: null, feedbackLink: null, firstOutputMs: null };
  }
}

/**
 * Waits until the agent is ready. Returns whether it was ready at the first call.
 * @throws AgentAway if it is not ready within `patienceMs`.
 */
async function untilThere(
  { side, client }: JudgedAgent,
  error: SlipwayError,
  patienceMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const started = performance.now();
  for (let looks = 1; ; looks++) {
    try {
      await client.ok({ signal, timeoutMs: LOOK_TIMEOUT_MS });
      return looks === 1;
    } catch (failure) {
      signal.throwIfAborted();
      if (!(failure instanceof SlipwayError)) throw failure;
      // Contract 001 has no /ok: an agent may answer 404.
      if (!isAgentAway(failure)) return looks === 1;
      if (performance.now() - started > patienceMs) throw new AgentAway(side, error);
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}

/** The evaluator's score of a run, or why there is none. Nothing without an evaluator. */
async function scoreOf(
  { evaluators: { pool, environment } }: JudgedAgent,
  { input, reference = null }: Input,
  { run, runId }: ObservedStream,
  { assistant, evaluator }: JudgeSettings,
  signal: AbortSignal,
): Promise<Pick<Trial, 'score' | 'noScore'> | Record<string, never>> {
  if (evaluator === undefined) return {};
  const { secret: from, url, name } = evaluator;
  try {
    const secret = from === undefined ? undefined : secretFor(from, url, { environment });
    const request = {
      version: 1,
      evaluator: name,
      check: null,
      input,
      answer: answerText(run.values),
      output: run.values,
      reference,
      run: {
        id: runId,
        assistant,
        latencyMs: Math.round(run.latencyMs),
        tokens: trajectoryOf(run.values)?.tokens ?? null,
        revisionId: null,
        repetition: 1,
      },
    } as const;
    const { score } = await askEvaluator(pool, evaluator, request, { secret, signal });
    return { score };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SlipwayError)) throw error;
    return { score: null, noScore: error.message };
  }
}

/** Records a run's verdict as feedback: its score, else 1 or 0. Lost feedback is only counted. */
async function recordVerdict(
  { feedback }: JudgedAgent,
  { feedbackLink }: ObservedStream,
  { held, reason, score }: Pick<Trial, 'held' | 'reason' | 'score'>,
  { feedbackKey }: JudgeSettings,
  signal: AbortSignal,
): Promise<boolean | null> {
  if (feedbackKey === undefined) return null;
  if (feedbackLink === null) return false;
  const submission = { score: score ?? (held ? 1 : 0), comment: reason ?? undefined };
  try {
    await feedback.submit(feedbackLink, submission, { signal, timeoutMs: FEEDBACK_TIMEOUT_MS });
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SlipwayError)) throw error;
    return false;
  }
}

/** The measurements of a run, without its place in the judgement. */
type Measured = Omit<Trial, 'place' | 'side' | 'repeated' | 'feedback'>;

function measure(
  run: ObservedRun,
  firstTokenMs: number | null,
  expect: Expectation,
  scorePath: string | undefined,
): Measured {
  const { passed, reasons } = judge(expect, run, ANSWER_CHECKS);
  const score = scorePath === undefined ? undefined : valueAt(run.values, scorePath);
  return {
    status: run.status === 'unreadable' ? 'error' : run.status,
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

/** The output tokens that a run's messages report, in the field that chat models use; `null` if none do. */
function outputTokens(values: unknown): number | null {
  const messages = valueAt(values, 'messages');
  if (!Array.isArray(messages)) return null;
  const counts = messages
    .map((message: unknown) => valueAt(message, 'usage_metadata.output_tokens'))
    .filter((count) => typeof count === 'number');
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
}
