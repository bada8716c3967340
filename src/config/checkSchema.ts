import { z } from 'zod';

import type { ChecksBudget as BudgetOfRelease } from '../domain/check/budget.ts';
import { type Turn as TurnOfCheck, turnProblem, TURNS_MAX } from '../domain/check/check.ts';
import {
  type Evaluator as EvaluatorOfCheck,
  EVALUATORS_MAX,
  ON_NO_SCORE,
} from '../domain/check/evaluator.ts';
import { hasReference } from '../domain/check/expectation.ts';
import { checkNameProblem } from '../domain/intervention/intervention.ts';
import { REPEAT_MAX, repetitionProblem } from '../domain/check/repetition.ts';
import { namedTwice } from './asWritten.ts';
import {
  DATASET_FIELDS,
  datasetFieldProblems,
  type DeclaredCheck,
  declaredDataset,
} from './datasetSchema.ts';
import { Expectation } from './expectationSchema.ts';
import {
  present,
  SecretReference,
  ServiceUrl,
  Text,
  TimeLimit,
  unless,
  unlessAny,
  wholeNumber,
} from './fields.ts';

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

const Evaluators = z
  .array(Evaluator)
  .min(1, 'expected at least one evaluator')
  .max(EVALUATORS_MAX)
  .superRefine(unlessAny((evaluators) => namedTwice(evaluators, 'evaluators')));

const Turn = z
  .strictObject({
    input: z.record(z.string(), z.unknown()).optional().describe('The run’s input'),
    resume: z
      .unknown()
      .optional()
      .describe('Instead of an input: the value that the interrupt of the turn before returns'),
    expect: Expectation.default({}).describe('What the run must show. Default: that it ends in success'),
  })
  .transform((turn): TurnOfCheck => ({ ...present(turn), expect: turn.expect }));

export const Check = z
  .strictObject({
    name: Text.superRefine(unless(checkNameProblem)).describe(
      'The check’s name, unique in the file. It may not be soak, freeze or judge',
    ),
    assistant: Text.describe('The graph’s name in the graph configuration'),
    input: z.record(z.string(), z.unknown()).optional().describe('The run’s input. Default: an empty one'),
    expect: Expectation.optional().describe('What the run must show. Default: that it ends in success'),
    turns: z
      .array(Turn)
      .min(1, 'expected at least one turn')
      .max(TURNS_MAX)
      .optional()
      .describe('Instead of input and expect: a conversation on one thread, a run for each turn'),
    repeat: wholeNumber(1, REPEAT_MAX)
      .optional()
      .describe('How often it is asked at most. It ends once the verdict is certain. Default: 1'),
    pass: wholeNumber(1, REPEAT_MAX).optional().describe('How many of them must pass. Default: all'),
    evaluators: Evaluators.optional().describe(
      'Services that score each run that meets its expectation: docs/checks.md. Default: none',
    ),
    reference: z.unknown().optional().describe('What evaluators compare the answer with'),
    ...DATASET_FIELDS,
    timeout: TimeLimit.default(60_000).describe(
      'How long a run may take; the deadlines of its steps follow. Default: 60s',
    ),
    feedbackKey: Text.optional().describe('The feedback key under which the verdict is recorded'),
  })
  .superRefine((check, context) => {
    const { input, expect, turns } = check;
    const wrong = (message: string, ...path: PropertyKey[]): void =>
      context.addIssue({ code: 'custom', path, message });
    if (check.reference !== undefined && check.evaluators === undefined)
      wrong('has no effect without evaluators', 'reference');
    const undecided = repetitionProblem(check);
    if (undecided !== undefined) wrong(undecided, 'pass');
    for (const { field, message } of datasetFieldProblems({ input, turns, ...check })) wrong(message, field);
    if (check.dataset === undefined) {
      const alone = 'only rows of a dataset have a reference: use equals or contains';
      for (const turn of turns ?? [{ expect: expect ?? {} }]) {
        if (hasReference(turn.expect)) wrong(alone, ...(turns === undefined ? ['expect'] : ['turns']));
      }
    }
    if (turns === undefined) return;
    if (input !== undefined) wrong('each turn has its own: move it into the first turn', 'input');
    if (expect !== undefined) wrong('each turn has its own: move it into the last turn', 'expect');
    const problem = turnProblem(turns);
    if (problem !== undefined) wrong(problem.message, 'turns', problem.turn, problem.field);
  })
  .transform(({ timeout: timeoutMs, input = {}, expect = {}, turns, ...check }): DeclaredCheck => {
    const { dataset: _, passRate: _1, undecided: _2, ...rest } = check;
    return { ...rest, input, expect, timeoutMs, turns, dataset: declaredDataset({ expect, ...check }) };
  });

export const ChecksBudget = z
  .strictObject({
    time: TimeLimit.optional().describe('How long they may take'),
    runs: wholeNumber(1).optional().describe('How many runs they may make'),
    tokens: wholeNumber(1)
      .optional()
      .describe(
        'How many tokens the agent’s messages may report (usage_metadata), input and output together',
      ),
  })
  .refine((budget) => Object.keys(budget).length > 0, 'expected time, runs or tokens')
  .transform(({ time, ...rest }): BudgetOfRelease => present({ ...rest, timeMs: time }));
