import { z } from 'zod';

import { freezeProblem } from '../domain/freeze/freezeProblem.ts';
import { isTimeZone } from '../domain/freeze/zonedTime.ts';
import { Text } from './scalarFields.ts';

const FREEZES_MAX = 100;

/** The name of an IANA time zone that this Node knows. */
export const TimeZone = Text.refine(isTimeZone, {
  message: 'expected an IANA time zone that exists, such as Europe/Berlin or UTC',
}).describe('An IANA time zone: Europe/Berlin');

const Freeze = z
  .strictObject({
    name: Text.describe('The name that a waiting release shows'),
    timeZone: TimeZone.default('UTC'),
    from: Text.describe('When it begins: "2026-12-23 18:00", "Fri 16:00", or "22:00" for every day'),
    until: Text.describe('When it ends, written as from is'),
    then: z
      .enum(['wait', 'refuse'])
      .default('wait')
      .describe('Whether what would be released waits, or is refused. Default: wait'),
  })
  .superRefine((freeze, context) => {
    const problem = freezeProblem(freeze);
    if (problem !== null)
      context.addIssue({ code: 'custom', path: [problem.field], message: problem.message });
  });

/** When nothing is released: a list of freezes. */
export const FreezeList = z.array(Freeze).max(FREEZES_MAX);
