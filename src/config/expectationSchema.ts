import { z } from 'zod';

import {
  type Expectation as ExpectationOfRun,
  PATTERN_MAX_CHARACTERS,
  patternProblem,
} from '../domain/check/check.ts';
import { Duration, Text } from './scalarFields.ts';

/** What a run must show, as it is written in `slipway.yaml` and in a file of inputs. */
export const Expectation = z.strictObject({
  status: z
    .enum(['success', 'error', 'interrupted'])
    .optional()
    .describe('How the run ends. Default: success'),
  contains: z.string().optional().describe('Text that the answer contains'),
  matches: z
    .string()
    .max(PATTERN_MAX_CHARACTERS)
    .optional()
    .describe('A regular expression that the answer matches')
    .superRefine((pattern, context) => {
      const problem = pattern === undefined ? undefined : patternProblem(pattern);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    }),
  path: Text.optional().describe('A dot path into the final values, to check instead of the answer'),
  equals: z.unknown().optional().describe('The expected value there'),
  maxLatency: Duration.optional().describe('The longest time from request to end'),
});
export type Expectation = z.infer<typeof Expectation>;

/** The expectation as runs are judged by it. */
export function toExpectation(expectation: Expectation): ExpectationOfRun {
  const { maxLatency, ...rest } = expectation;
  const fields = Object.entries({ ...rest, maxLatencyMs: maxLatency });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}
