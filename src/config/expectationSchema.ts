import { z } from 'zod';

import {
  type Expectation as ExpectationOfRun,
  type ExpectedNumber,
  impossibilities,
  PATTERN_MAX_CHARACTERS,
  patternProblem,
} from '../domain/check/expectation.ts';
import { ARGS_MODES, TOOL_MODES } from '../domain/check/trajectory.ts';
import { matchesPattern, schemaProblem } from './answerSchema.ts';
import { present, SHARE, shareOf, Text, TimeLimit, unless, unlessAny, wholeNumber } from './fields.ts';

const CALLS_MAX = 100;
const PARTS_MAX = 20;

const ExpectedNumber = z
  .strictObject({
    equals: z.number().optional().describe('The number'),
    tolerance: z
      .union([
        z.number().min(0),
        z.string().regex(SHARE, 'expected a number, or a share of equals such as 1%'),
      ])
      .optional()
      .describe('How far from equals it may be: a number, or a share of equals such as 1%. Default: 0'),
    min: z.number().optional().describe('The smallest number that passes'),
    max: z.number().optional().describe('The largest number that passes'),
  })
  .transform(({ tolerance, ...rest }): ExpectedNumber => {
    if (typeof tolerance !== 'string') return present({ ...rest, tolerance });
    return present({ ...rest, tolerance: (shareOf(tolerance) ?? 0) * Math.abs(rest.equals ?? 0) });
  });

const ExpectedTools = z.strictObject({
  mode: z
    .enum(TOOL_MODES)
    .optional()
    .describe('The same calls in this order; in any order; none but these; at least these. Default: strict'),
  argsMode: z
    .enum(ARGS_MODES)
    .optional()
    .describe('The same arguments; none but these; at least these. Default: exact'),
  calls: z
    .array(
      z.strictObject({
        name: Text.describe('The tool’s name'),
        args: z
          .record(z.string(), z.unknown())
          .optional()
          .describe('Its arguments. Absent: they are not compared'),
      }),
    )
    .max(CALLS_MAX)
    .describe('The calls'),
});

/** What a run must show, as it is written in `slipway.yaml` and in a file of inputs. */
export const Expectation: z.ZodType<ExpectationOfRun> = z.lazy(() => Fields).meta({ id: 'Expectation' });

const Fields = z
  .strictObject({
    status: z
      .enum(['success', 'error', 'interrupted'])
      .optional()
      .describe('How the run ends. Default: success; in not, anyOf and allOf: any'),
    contains: z.string().optional().describe('Text that the answer contains'),
    matches: z
      .string()
      .max(PATTERN_MAX_CHARACTERS)
      .optional()
      .describe('A regular expression that the answer matches')
      .superRefine(unless((pattern) => (pattern === undefined ? undefined : patternProblem(pattern)))),
    path: Text.optional().describe('A dot path into the final values, to check instead of the answer'),
    equals: z.unknown().optional().describe('The expected value there'),
    jsonSchema: z
      .record(z.string(), z.unknown())
      .superRefine(unless(jsonSchemaProblem))
      .optional()
      .describe('The JSON Schema of the value there, or of the JSON that the answer is'),
    number: ExpectedNumber.optional().describe('The number there, or the only one in the answer'),
    tools: ExpectedTools.optional().describe('The tools that the agent calls'),
    maxToolCalls: wholeNumber(0).optional().describe('How many tool calls the agent makes at most'),
    maxTokens: wholeNumber(1)
      .optional()
      .describe('How many tokens its messages report at most (usage_metadata), input and output together'),
    maxLatency: TimeLimit.optional().describe('The longest time from request to end'),
    not: Expectation.optional().describe('What must not hold as a whole'),
    anyOf: z
      .array(Expectation)
      .min(1, 'expected a list of expectations, of which one must hold')
      .max(PARTS_MAX)
      .optional()
      .describe('Expectations of which at least one must hold'),
    allOf: z
      .array(Expectation)
      .min(1, 'expected a list of expectations, which must all hold')
      .max(PARTS_MAX)
      .optional()
      .describe('Expectations that must all hold'),
    reference: z
      .enum(['equals', 'contains'])
      .optional()
      .describe('How the answer, or the value at path, compares with the reference of a dataset’s row'),
  })
  .transform(({ maxLatency, ...rest }): ExpectationOfRun => present({ ...rest, maxLatencyMs: maxLatency }))
  .superRefine(unlessAny((expect) => impossibilities(expect, matchesPattern)));

function jsonSchemaProblem(schema: Readonly<Record<string, unknown>>): string | undefined {
  const problem = schemaProblem(schema);
  return problem === undefined ? undefined : `expected a JSON Schema of draft 2020-12 or 7: ${problem}`;
}
