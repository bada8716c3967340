import { SECRET_REFERENCE } from '@slipway/contract/secretReference';
import { z } from 'zod';

import { DAY_MS, parseDuration } from '../domain/duration.ts';
import { freezeProblem } from '../domain/freeze/freeze.ts';
import { isTimeZone } from '../domain/freeze/zonedTime.ts';
import { tooFewApprovers } from '../domain/intervention/intervention.ts';
import { isOrigin, ORIGIN } from '../domain/target/origin.ts';
import { serviceUrlProblem, TARGET_NAME } from '../domain/target/targetSpec.ts';
import type { FieldProblem } from './configProblem.ts';

/** Fields that several parts of `slipway.yaml` share. */

/** An object without its `undefined` fields, which would override defaults. */
export function present<T extends object>(fields: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof present<T>
  >;
}

export const Text = z.string().trim().min(1, 'must not be empty');

/** A whole number of at least `least`. @param most - default: none. */
export function wholeNumber(least: number, most?: number) {
  const number = z.int().min(least);
  return most === undefined ? number : number.max(most);
}

/** The name of a target, a promotion or a preview. */
export const EntryName = z
  .string()
  .regex(TARGET_NAME, 'expected letters, digits, dots and dashes, 128 at most');

/** A share as people write it: `95%`. */
export const SHARE = /^\s*(\d+(?:\.\d+)?)\s*%\s*$/;

/** The number of a share: `95%` is 0.95. `undefined` if the text is none. */
export function shareOf(text: string): number | undefined {
  const percent = SHARE.exec(text)?.[1];
  return percent === undefined ? undefined : Number(percent) / 100;
}

const DURATION_PATTERN = '^\\s*(0|(\\d+(\\.\\d+)?(ms|s|m|h|d))+)\\s*$';

/** A duration as people write it, in milliseconds. */
export const Duration = durationField(
  (text) => parseDuration(text),
  'expected a duration such as 30s, 5m or 1h30m, at most 30 days',
);

/** A duration in which something must happen. */
export const TimeLimit = Duration.refine((limit) => limit > 0, { message: 'expected more than 0s' });

/** A duration. `parse` returns `undefined` for an invalid text; the error is then `problem`. */
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

const REFERENCE_EXPECTED = 'expected env:NAME or file:/absolute/path, never the secret itself';

export const Reference = z
  .string(REFERENCE_EXPECTED)
  .trim()
  .min(1, REFERENCE_EXPECTED)
  .refine((text) => SECRET_REFERENCE.test(text), REFERENCE_EXPECTED)
  .describe('Where the secret comes from: env:NAME or file:/absolute/path');

export const SecretReference = z.strictObject(
  { from: Reference },
  typeProblem('expected { from: env:NAME } or { from: file:/absolute/path }, never the secret itself'),
);

/** A refinement that reports what `problemOf` finds wrong with a value. */
export function unless<T>(problemOf: (value: T) => string | undefined, ...path: PropertyKey[]) {
  return (value: T, context: z.core.$RefinementCtx): void => {
    const message = problemOf(value);
    if (message !== undefined) context.addIssue({ code: 'custom', path, message });
  };
}

/** A refinement that reports every problem that is found in a value. */
export function unlessAny<T>(problemsOf: (value: T) => Iterable<FieldProblem>) {
  return (value: T, context: z.core.$RefinementCtx): void => {
    for (const { path, message } of problemsOf(value)) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
  };
}

export const ServiceUrl = z
  .url({ protocol: /^https?$/, error: 'expected an http or https URL', abort: true })
  .superRefine(unless(serviceUrlProblem));

/** The address that a service's paths are appended to. */
export const BaseUrl = ServiceUrl.refine((url) => /^[^?#]*$/.test(url), {
  message: 'expected an address without a query and a fragment',
});

const ORIGIN_EXPECTED = 'expected an origin such as https://agents.example.com or https://*.example.com';

/** The origin of a service, or every host below a domain. */
export const Origin = z
  .string()
  .regex(ORIGIN, { error: ORIGIN_EXPECTED, abort: true })
  .refine(isOrigin, ORIGIN_EXPECTED);

/** The error for a value of another type. Problems within the value are reported field by field. */
export function typeProblem(problem: string) {
  return { error: ({ code }: { readonly code: string }) => (code === 'invalid_type' ? problem : undefined) };
}

/** The fields of an approval. `byDefault`: who may approve if no person is named. */
export function approvalFields(byDefault: string) {
  return {
    required: wholeNumber(1, 100).default(1).describe('How many people must approve'),
    approvers: z.array(Text).min(1).max(100).optional().describe(`Who may approve. Default: ${byDefault}`),
    within: Duration.default(DAY_MS).describe(
      'How long to wait for approval. While no worker runs, the wait goes on, and an approval counts. Default: 24h',
    ),
  };
}

/** Reports an approval that is impossible to give. */
export const enoughApprovers = unless(tooFewApprovers, 'required');

const FREEZES_MAX = 100;

export const TimeZone = Text.refine(isTimeZone, {
  message: 'expected an IANA time zone that exists, such as Europe/Berlin or UTC',
}).describe('An IANA time zone: Europe/Berlin');

/** Reports a freeze, or hours, that no time can be within. */
export const possibleFreeze = unlessAny(function* (freeze: Parameters<typeof freezeProblem>[0]) {
  const problem = freezeProblem(freeze);
  if (problem !== undefined) yield { path: [problem.field], message: problem.message };
});

const Freeze = z
  .strictObject({
    name: Text.describe('The name, shown by releases that wait for its end'),
    timeZone: TimeZone.default('UTC'),
    from: Text.describe('When it begins: "2026-12-23 18:00", "Fri 16:00", or "22:00" for every day'),
    until: Text.describe('When it ends, in the same form as from'),
    then: z
      .enum(['wait', 'refuse'])
      .default('wait')
      .describe('Whether a release waits for the end, or is rejected. Default: wait'),
  })
  .superRefine(possibleFreeze);

/** When nothing is released: a list of freezes. */
export const FreezeList = z.array(Freeze).max(FREEZES_MAX);
