import { z } from 'zod';

import type { ChecksBudget as BudgetOfRelease } from '../domain/check/budget.ts';
import { type Turn as TurnOfCheck, turnProblem, TURNS_MAX } from '../domain/check/check.ts';
import { hasReference } from '../domain/check/expectation.ts';
import { checkNameProblem } from '../domain/intervention/intervention.ts';
import { REPEAT_MAX, repetitionProblem } from '../domain/check/repetition.ts';
import {
  DATASET_FIELDS,
  datasetFieldProblems,
  type DeclaredCheck,
  declaredDataset,
} from './datasetSchema.ts';
import { Evaluators } from './evaluatorSchema.ts';
import { Expectation } from './expectationSchema.ts';
import { present, Text, TimeLimit, unless } from './fields.ts';

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
    repeat: z
      .int()
      .min(1)
      .max(REPEAT_MAX)
      .optional()
      .describe('How often it is asked at most. It ends once the verdict is certain. Default: 1'),
    pass: z.int().min(1).max(REPEAT_MAX).optional().describe('How many of them must pass. Default: all'),
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
    runs: z.int().min(1).optional().describe('How many runs they may make'),
    tokens: z
      .int()
      .min(1)
      .optional()
      .describe(
        'How many tokens the agent’s messages may report (usage_metadata), input and output together',
      ),
  })
  .refine((budget) => Object.keys(budget).length > 0, 'expected time, runs or tokens')
  .transform(({ time, ...rest }): BudgetOfRelease => present({ ...rest, timeMs: time }));
