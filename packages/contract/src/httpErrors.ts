import { z } from 'zod';

/**
 * The body of every error that is not a validation error: a sentence (contract 000, "Errors", 400 and 404).
 * Contract 001 shows no error shape; it is given the same one.
 */
export const ErrorDetail = z.looseObject({ detail: z.string() });

/** One field that is not right: where it stands, what is wrong, and the kind of mistake (contract 000, "Errors"). */
export const ValidationIssue = z.looseObject({
  loc: z.array(z.union([z.string(), z.int()])),
  msg: z.string(),
  type: z.string(),
});
export interface ValidationIssue {
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** The body of a 422 (contract 000, "Errors": HTTPValidationError). */
export const HttpValidationError = z.looseObject({ detail: z.array(ValidationIssue) });
export interface HttpValidationError {
  detail: ValidationIssue[];
}

/** Where the value that was checked came from: the first part of every `loc`. */
export type ValidationPrefix = 'body' | 'query' | 'path' | 'header';

/**
 * Translates zod's issues to the wire's. No message repeats a value that was sent: values may be secrets.
 * `type` is a stable word in the manner of the public relative (`missing`, `string_type`, `less_than_equal`, …),
 * or the `type` that a rule of this contract gave itself.
 */
export function toValidationIssues(error: z.ZodError, prefix: ValidationPrefix): ValidationIssue[] {
  return error.issues.flatMap((issue) => translate(issue, [prefix]));
}

function translate(issue: z.core.$ZodIssue, before: (string | number)[]): ValidationIssue[] {
  const loc = [...before, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))];
  switch (issue.code) {
    case 'invalid_type':
      // Zod keeps no input in its issues: only the message says that a field is absent.
      if (issue.message.endsWith('received undefined')) return [missing(loc)];
      return [wrongType(issue, loc)];
    case 'too_small':
      return [{ loc, ...tooSmall(issue) }];
    case 'too_big':
      return [{ loc, ...tooBig(issue) }];
    case 'invalid_value':
      if (issue.message === FIELD_REQUIRED) return [missing(loc)];
      return [{ loc, msg: `Input should be one of: ${issue.values.map(String).join(', ')}`, type: 'enum' }];
    case 'invalid_format':
      return [{ loc, msg: formatMessage(issue), type: 'string_format' }];
    case 'invalid_union':
      return union(issue, loc);
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues.flatMap((inner) => translate(inner, loc));
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        loc: [...loc, key],
        msg: 'Extra inputs are not permitted',
        type: 'extra_forbidden',
      }));
    case 'not_multiple_of':
      return [{ loc, msg: `Input should be a multiple of ${issue.divisor}`, type: 'multiple_of' }];
    case 'custom':
      return [{ loc, msg: issue.message, type: ruleType(issue.params) }];
  }
}

/** The message by which an enumeration says that its field is absent (its own issue does not say so). */
export const FIELD_REQUIRED = 'Field required';

function missing(loc: (string | number)[]): ValidationIssue {
  return { loc, msg: FIELD_REQUIRED, type: 'missing' };
}

/** A message that the schema gave itself goes before the general one. All of zod's begin with one of these. */
function own(issue: z.core.$ZodIssue, general: string): string {
  return /^(?:Invalid|Too|Unrecognized) /u.test(issue.message) ? general : issue.message;
}

/** Zod's names of types that JSON has other names for. */
const TYPE_NAMES: Readonly<Record<string, string>> = { record: 'object', array: 'list', int: 'integer' };

function wrongType(issue: z.core.$ZodIssueInvalidType, loc: (string | number)[]): ValidationIssue {
  const name = TYPE_NAMES[issue.expected] ?? issue.expected;
  return { loc, msg: own(issue, `Input should be a valid ${name}`), type: `${name}_type` };
}

function tooSmall(issue: z.core.$ZodIssueTooSmall): { msg: string; type: string } {
  const least = Number(issue.minimum);
  if (issue.origin === 'string') {
    return { msg: `String should have at least ${least} characters`, type: 'string_too_short' };
  }
  if (issue.origin === 'array') return { msg: `List should have at least ${least} items`, type: 'too_short' };
  return issue.inclusive === false
    ? { msg: `Input should be greater than ${least}`, type: 'greater_than' }
    : { msg: `Input should be greater than or equal to ${least}`, type: 'greater_than_equal' };
}

function tooBig(issue: z.core.$ZodIssueTooBig): { msg: string; type: string } {
  const most = Number(issue.maximum);
  if (issue.origin === 'string') {
    return { msg: `String should have at most ${most} characters`, type: 'string_too_long' };
  }
  if (issue.origin === 'array') return { msg: `List should have at most ${most} items`, type: 'too_long' };
  return issue.inclusive === false
    ? { msg: `Input should be less than ${most}`, type: 'less_than' }
    : { msg: `Input should be less than or equal to ${most}`, type: 'less_than_equal' };
}

function formatMessage(issue: z.core.$ZodIssueInvalidStringFormat): string {
  return own(issue, `Input should be a valid ${issue.format === 'guid' ? 'UUID' : issue.format}`);
}

/**
 * A union answers with the branch that came furthest: one whose issue lies inside the value, else one that took the
 * value's type. Where every branch wanted another type, one issue says all that they wanted.
 */
function union(issue: z.core.$ZodIssueInvalidUnion, loc: (string | number)[]): ValidationIssue[] {
  const inside = issue.errors.find((branch) => (branch[0]?.path.length ?? 0) > 0);
  const closest = inside ?? issue.errors.find((branch) => !branch.some(wantsAnotherValue));
  if (closest !== undefined) return closest.flatMap((inner) => translate(inner, loc));
  const translated = issue.errors.flatMap((branch) => branch.flatMap((inner) => translate(inner, loc)));
  if (translated.some(({ type }) => type === 'missing')) return [missing(loc)];
  return [{ loc, msg: [...new Set(translated.map(({ msg }) => msg))].join(', or: '), type: 'union' }];
}

function wantsAnotherValue(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'invalid_type' || issue.code === 'invalid_value';
}

function ruleType(params: Record<string, unknown> | undefined): string {
  const type = params?.['type'];
  return typeof type === 'string' ? type : 'value_error';
}
