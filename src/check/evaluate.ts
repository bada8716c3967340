import type { Agent } from 'undici';

import { askEvaluator, type EvaluationRequest, noScore } from '../clients/evaluator.ts';
import { secretFor } from '../config/secretOrigins.ts';
import { answerText } from '../domain/check/answer.ts';
import type { Check } from '../domain/check/check.ts';
import {
  type Evaluator,
  type EvaluatorScores,
  type RunScore,
  scoreProblem,
  withScore,
} from '../domain/check/evaluator.ts';
import { trajectoryOf } from '../domain/check/trajectory.ts';
import { SlipwayError, withHint } from '../domain/errors.ts';
import type { Answered } from './askAgent.ts';

/** What calling evaluators needs. */
export interface Evaluating {
  readonly pool: Agent;
  /** Where references to secrets are resolved. Default: this process's. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The revision that is checked. Absent: an agent is asked without releasing. */
  readonly revisionId?: string;
  /** Whether a missing score ends no check, whatever its `onNoScore` says. */
  readonly passesWithoutScore?: boolean;
}

/** A run after its evaluators were asked. */
export interface Evaluated {
  /** Its judgement includes the scores. */
  readonly answered: Answered;
  /** What evaluators said about all runs of the check so far. Absent: nothing. */
  readonly scores?: readonly EvaluatorScores[];
}

/**
 * Asks the evaluators of a check, all at once, to score a run that met its expectation. The run passes if no score is
 * below its `minScore`.
 * @param progress - the repetitions made before, and what evaluators said about them.
 * @throws SLIPWAY_EVALUATOR_FAILED if an evaluator gives no score, its `onNoScore` is `fail`, and no other score fails
 *   the run.
 */
export async function evaluate(
  check: Check,
  answered: Answered,
  { made, scores }: { readonly made: number; readonly scores?: readonly EvaluatorScores[] },
  evaluating: Evaluating,
  signal: AbortSignal,
): Promise<Evaluated> {
  const { judgement } = answered;
  const { evaluators = [] } = check;
  if (evaluators.length === 0 || !judgement.passed) return { answered, scores };
  const asked = await Promise.all(
    evaluators.map(async (evaluator) => {
      const request = requestOf(check, evaluator, answered, made + 1, evaluating);
      return { evaluator, said: await ask(evaluator, request, evaluating, signal) };
    }),
  );
  const reasons = asked.flatMap(({ evaluator, said }) =>
    said instanceof SlipwayError ? [] : (scoreProblem(evaluator, said) ?? []),
  );
  const missing = asked.find(
    ({ evaluator, said }) => said instanceof SlipwayError && evaluator.onNoScore === 'fail',
  );
  if (
    missing?.said instanceof SlipwayError &&
    reasons.length === 0 &&
    evaluating.passesWithoutScore !== true
  ) {
    throw missing.said;
  }
  return {
    answered: { ...answered, judgement: { ...judgement, passed: reasons.length === 0, reasons } },
    scores: asked.map(({ evaluator, said }) =>
      withScore(evaluator, scores ?? [], said instanceof SlipwayError ? withHint(said) : said),
    ),
  };
}

/** Asks one evaluator. An error is why it gave no score. */
async function ask(
  evaluator: Evaluator,
  request: EvaluationRequest,
  { pool, environment }: Evaluating,
  signal: AbortSignal,
): Promise<RunScore | SlipwayError> {
  const { secret: reference, url } = evaluator;
  try {
    const secret = reference === undefined ? undefined : secretFor(reference, url, { environment });
    return await askEvaluator(pool, evaluator, request, { secret, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SlipwayError)) throw error;
    return error.code === 'SLIPWAY_EVALUATOR_FAILED' ? error : noScore(evaluator, error.message, error);
  }
}

function requestOf(
  check: Check,
  { name }: Evaluator,
  { seen }: Answered,
  repetition: number,
  { revisionId }: Evaluating,
): EvaluationRequest {
  const { turns, input, assistant, reference = null } = check;
  const { values, latencyMs } = seen.run;
  return {
    version: 1,
    evaluator: name,
    check: check.name,
    input: turns === undefined ? input : null,
    turns: turns?.map(({ input: asked, resume }) => ({ input: asked, resume })),
    answer: answerText(values),
    output: values,
    reference,
    run: {
      id: seen.runId,
      assistant,
      latencyMs: Math.round(latencyMs),
      tokens: trajectoryOf(values)?.tokens ?? null,
      revisionId: revisionId ?? null,
      repetition,
    },
  };
}
