import { z } from 'zod';

import {
  type Check as CheckOfRelease,
  type Turn as TurnOfCheck,
  turnProblem,
  TURNS_MAX,
} from '../domain/check/check.ts';
import { Expectation } from './expectationSchema.ts';
import { Duration, present, Text } from './fields.ts';

const Turn = z
  .strictObject({
    input: z.record(z.string(), z.unknown()).optional().describe('The run’s input'),
    resume: z
      .unknown()
      .optional()
      .describe('Instead of an input: the value that the interrupt of the turn before returns'),
    expect: Expectation.default({}).describe('What the run has to show. Default: that it ends in success'),
  })
  .transform((turn): TurnOfCheck => ({ ...present(turn), expect: turn.expect }));

/** A check of `slipway.yaml`. */
export const Check = z
  .strictObject({
    name: Text.describe('What it is called, once in the file'),
    assistant: Text.describe('The graph’s name in the graph configuration'),
    input: z.record(z.string(), z.unknown()).optional().describe('The run’s input. Default: an empty one'),
    expect: Expectation.optional().describe('What the run has to show. Default: that it ends in success'),
    turns: z
      .array(Turn)
      .min(1, 'expected at least one turn')
      .max(TURNS_MAX)
      .optional()
      .describe('Instead of input and expect: a conversation on one thread, a run for each turn'),
    timeout: Duration.default(60_000).describe(
      'How long a run may take; the deadlines of its steps follow. Default: 60s',
    ),
    feedbackKey: Text.optional().describe('The feedback key under which the verdict is recorded'),
  })
  .superRefine(({ input, expect, turns }, context) => {
    if (turns === undefined) return;
    const wrong = (message: string, ...path: PropertyKey[]): void =>
      context.addIssue({ code: 'custom', path, message });
    if (input !== undefined) wrong('each turn has its own: move it into the first turn', 'input');
    if (expect !== undefined) wrong('each turn has its own: move it into the last turn', 'expect');
    const problem = turnProblem(turns);
    if (problem !== undefined) wrong(problem.message, 'turns', problem.turn, problem.field);
  })
  .transform(({ timeout: timeoutMs, input = {}, expect = {}, turns, ...check }): CheckOfRelease => ({
    ...check,
    input,
    expect,
    timeoutMs,
    ...(turns === undefined ? {} : { turns }),
  }));
