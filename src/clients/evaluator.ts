import { setTimeout as sleep } from 'node:timers/promises';

import type { Agent } from 'undici';
import { z } from 'zod';

import { cutText } from '../domain/bounds.ts';
import type { Check } from '../domain/check/check.ts';
import {
  EVALUATOR_CALLS,
  EVALUATOR_WAIT_MAX_MS,
  type RunScore,
  type ScoringService,
} from '../domain/check/evaluator.ts';
import { SlipwayError } from '../domain/errors.ts';
import { parsedJson } from '../domain/scalars.ts';
import { Exchange } from './exchange.ts';
import { describeProblems, ServiceError, type ServiceErrorCode } from './serviceError.ts';
import { signature } from './notify/webhook.ts';

export interface EvaluationRequest {
  readonly version: 1;
  readonly evaluator: string;
  readonly check: string | null;
  /** The run's input. `null` for a conversation. */
  readonly input: Check['input'] | null;
  /** The inputs of a conversation, one for each run. */
  readonly turns?: readonly { readonly input?: Check['input']; readonly resume?: unknown }[];
  /** The text of the last message, or the values as JSON. */
  readonly answer: string;
  /** The final values of the last run. */
  readonly output: unknown;
  /** What the answer may be compared with, as `slipway.yaml` has it. `null`: nothing. */
  readonly reference: unknown;
  readonly run: {
    readonly id: string | null;
    readonly assistant: string;
    /** Of a conversation: the times of its runs together. */
    readonly latencyMs: number;
    /** What the messages of the answer report. `null`: nothing. */
    readonly tokens: number | null;
    /** `null`: the agent was asked without releasing. */
    readonly revisionId: string | null;
    /** From 1. */
    readonly repetition: number;
  };
}

const Answer = z.object({
  score: z.union([z.boolean(), z.number().min(0).max(1)], 'expected a number from 0 to 1, or true or false'),
  comment: z.string('expected text').nullish(),
});

/** An answer is a score and a comment. */
const ANSWER_MAX_BYTES = 65_536;

/** What is kept of a comment, and of an error. */
const TEXT_MAX_BYTES = 600;

const FIRST_WAIT_MS = 1_000;

/** Failures after which the evaluator may answer the next call. */
const PASSING: ReadonlySet<ServiceErrorCode> = new Set([
  'SLIPWAY_UNREACHABLE',
  'SLIPWAY_NO_ANSWER',
  'SLIPWAY_RATE_LIMITED',
  'SLIPWAY_SERVICE_ERROR',
]);

/**
 * Asks an evaluator for the score of one run. It is called again if it does not answer, fails, or asks to wait, up to
 * {@link EVALUATOR_CALLS} times.
 * @param secret - the key of the signature. Absent: the request is not signed.
 * @throws SLIPWAY_EVALUATOR_FAILED that names the evaluator; the client's error if `signal` ended the call.
 */
export async function askEvaluator(
  agent: Agent,
  evaluator: Pick<ScoringService, 'name' | 'url' | 'timeoutMs'>,
  request: EvaluationRequest,
  { secret, signal }: { readonly secret: string | undefined; readonly signal: AbortSignal },
): Promise<RunScore> {
  const body = JSON.stringify(request);
  for (let calls = 1; ; calls++) {
    try {
      return await call(agent, evaluator, body, secret, signal);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.aborted) throw error;
      const { code, retryAfterMs = 0 } = error;
      const waitMs = Math.max(FIRST_WAIT_MS * 2 ** (calls - 1), retryAfterMs);
      if (!PASSING.has(code) || calls === EVALUATOR_CALLS || waitMs > EVALUATOR_WAIT_MAX_MS) {
        throw callFailed(evaluator, error, calls);
      }
      await sleep(waitMs, undefined, { signal });
    }
  }
}

async function call(
  agent: Agent,
  { url, timeoutMs }: Pick<ScoringService, 'url' | 'timeoutMs'>,
  body: string,
  secret: string | undefined,
  signal: AbortSignal,
): Promise<RunScore> {
  const headers = { accept: 'application/json' };
  const now = Math.floor(Date.now() / 1_000);
  const exchange = new Exchange(
    agent,
    {
      method: 'POST',
      url: new URL(url),
      headers:
        secret === undefined ? headers : { ...headers, 'slipway-signature': signature(body, secret, now) },
      body,
      secrets: secret === undefined ? [] : [secret],
      unauthorizedHint: 'give the evaluator the secret that slipway.yaml names',
    },
    { signal, timeoutMs },
  );
  return read(await exchange.text(ANSWER_MAX_BYTES), exchange);
}

function read(text: string, exchange: Exchange): RunScore {
  const parsed = Answer.safeParse(jsonOf(text, exchange));
  if (!parsed.success) throw exchange.badAnswer(`not a score (${describeProblems(parsed.error)})`);
  const { score, comment } = parsed.data;
  return { score: Number(score), comment: comment == null ? null : cutText(comment, TEXT_MAX_BYTES) };
}

function jsonOf(text: string, exchange: Exchange): unknown {
  const value = parsedJson(text);
  if (value !== undefined) return value;
  const isNotANumber = /:\s*-?(?:NaN|Infinity)\b/u.test(text);
  throw exchange.badAnswer(isNotANumber ? 'not JSON, which has no NaN and no Infinity' : 'not JSON');
}

function callFailed(service: Pick<ScoringService, 'name' | 'url'>, error: ServiceError, calls: number) {
  const { message, retryAfterMs = 0 } = error;
  const often = calls === 1 ? '' : `, ${calls} times`;
  const waits =
    retryAfterMs > EVALUATOR_WAIT_MAX_MS
      ? `, and it asks to wait for ${Math.ceil(retryAfterMs / 1_000)} s`
      : '';
  return noScore(service, `${message}${often}${waits}`, error);
}

export function noScore(
  { name, url }: Pick<ScoringService, 'name' | 'url'>,
  why: string,
  cause: SlipwayError,
): SlipwayError {
  const message = `evaluator "${name}" gave no score: ${cutText(why, TEXT_MAX_BYTES)}`;
  const { hint } = cause;
  return new SlipwayError('SLIPWAY_EVALUATOR_FAILED', message, { place: new URL(url).origin, hint, cause });
}
