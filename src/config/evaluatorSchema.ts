import { z } from 'zod';

import {
  type Evaluator as EvaluatorOfCheck,
  EVALUATORS_MAX,
  ON_NO_SCORE,
} from '../domain/check/evaluator.ts';
import { SecretReference, ServiceUrl, Text, TimeLimit, unlessAny } from './fields.ts';
import { namedTwice } from './nearestWord.ts';

const MIN_SCORE = 'expected a score above 0, at most 1';

/** The fields of a service that scores runs: of a check's evaluator, and of the judge's. */
export const SCORING_SERVICE = {
  name: Text.describe('The evaluator’s name'),
  url: ServiceUrl.describe('Its address, which gets a POST for each run: docs/evaluators.md'),
  secret: SecretReference.optional().describe(
    'The key that signs the requests. Default: they are not signed',
  ),
  timeout: TimeLimit.default(30_000).describe('How long one call may take. Default: 30s'),
};

const Evaluator = z
  .strictObject({
    ...SCORING_SERVICE,
    minScore: z
      .number(MIN_SCORE)
      .gt(0, `${MIN_SCORE}: every run has 0`)
      .max(1, `${MIN_SCORE}: no run has more`)
      .describe('The lowest score with which a run passes, above 0, at most 1'),
    onNoScore: z
      .enum(ON_NO_SCORE)
      .default('pass')
      .describe(
        'What happens to a run without a score: it counts by its expectation alone, or the check ends without a verdict. Default: pass',
      ),
  })
  .transform(({ timeout: timeoutMs, ...evaluator }): EvaluatorOfCheck => ({ ...evaluator, timeoutMs }));

export const Evaluators = z
  .array(Evaluator)
  .min(1, 'expected at least one evaluator')
  .max(EVALUATORS_MAX)
  .superRefine(unlessAny((evaluators) => namedTwice(evaluators, 'evaluators')));
