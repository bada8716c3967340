import { z } from 'zod';

import { parseDuration } from '../domain/duration.ts';

/** Fields that several parts of `slipway.yaml` are made of. */

/** A text that says something. */
export const Text = z.string().trim().min(1, 'must not be empty');

/** What {@link Duration} takes, for editors. */
export const DURATION_PATTERN = '^\\s*(0|(\\d+(\\.\\d+)?(ms|s|m|h|d))+)\\s*$';

/** A duration as people write it, in milliseconds. */
export const Duration = durationField(
  (text) => parseDuration(text),
  'expected a duration such as 30s, 5m or 1h30m, 30 days at most',
);

/**
 * A field that is a duration.
 *
 * @param parse - reads it; `undefined` for what is none.
 * @param problem - what is said of what is none.
 */
export function durationField(parse: (text: string) => number | undefined, problem: string) {
  return z
    .string(problem)
    .meta({ description: 'A duration: 250ms, 30s, 5m, 1h30m', pattern: DURATION_PATTERN })
    .transform((text, context) => {
      const milliseconds = parse(text);
      if (milliseconds !== undefined) return milliseconds;
      context.addIssue({ code: 'custom', message: problem });
      return z.NEVER;
    });
}
