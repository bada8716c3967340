import { z } from 'zod';

/** The body of every error that is not a validation error (contract 000, "Errors"; 001 shows no shape of its own). */
export const ErrorDetail = z.looseObject({ detail: z.string() });

/** One invalid field: its place, the problem, and the kind of problem (contract 000, "Errors"). */
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

/** The part of the request that was checked: the first part of every `loc`. */
export type ValidationPrefix = 'body' | 'query' | 'path' | 'header';

/**
 * Translates zod's issues to the wire's. No message repeats a sent value, because values may be secrets. `type` is a
 * stable word as in the public API (`missing`, `string_type`, `less_than_equal`, …), or the `type` that a rule of
 * this contract set. Decision: the first hundred, because a large request may have very many.
 */
export function toValidationIssues(error: z.ZodError, prefix: ValidationPrefix): ValidationIssue[] {
  const first = error.issues.slice(0, ISSUES_MAX);
  return first.flatMap((issue) => translateIssue(issue, [prefix])).slice(0, ISSUES_MAX);
}

/** How many mistakes an answer shows. */
export const ISSUES_MAX = 100;

/** Adds a broken rule to the issues of a schema. */
export function refuse(
  context: z.RefinementCtx,
  path: (string | number)[],
  message: string,
  type: string,
): void {
  context.addIssue({ code: 'custom', path, message, params: { type } });
}

/** Adds the broken rules of a body to the issues of its schema. */
export function refuseAll(context: z.RefinementCtx, issues: readonly ValidationIssue[]): void {
  for (const { loc, msg, type } of issues) refuse(context, loc.slice(1), msg, type);
}

function translateIssue(issue: z.core.$ZodIssue, parentPath: (string | number)[]): ValidationIssue[] {
  const loc = [...parentPath, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))];
  switch (issue.code) {
    case 'invalid_type':
      // Zod's issues have no input: only the message says that a field is absent.
      if (issue.message.endsWith('received undefined')) return [missingField(loc)];
      return [wrongType(issue, loc)];
    case 'too_small':
      return [{ loc, ...outOfRange(issue, issue.minimum, TOO_SMALL) }];
    case 'too_big':
      return [{ loc, ...outOfRange(issue, issue.maximum, TOO_BIG) }];
    case 'invalid_value':
      if (issue.message === FIELD_REQUIRED) return [missingField(loc)];
      return [{ loc, msg: `Input should be one of: ${issue.values.map(String).join(', ')}`, type: 'enum' }];
    case 'invalid_format': {
      const format = issue.format === 'guid' ? 'UUID' : issue.format;
      return [{ loc, msg: ownMessageOr(issue, `Input should be a valid ${format}`), type: 'string_format' }];
    }
    case 'invalid_union':
      return unionIssues(issue, loc);
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues.flatMap((inner) => translateIssue(inner, loc));
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

/** The message of an enumeration for an absent field; its issue does not show that. */
export const FIELD_REQUIRED = 'Field required';

function missingField(loc: (string | number)[]): ValidationIssue {
  return { loc, msg: FIELD_REQUIRED, type: 'missing' };
}

/** A schema's own message overrides the general one. All of zod's messages begin with one of these words. */
function ownMessageOr(issue: z.core.$ZodIssue, general: string): string {
  return /^(?:Invalid|Too|Unrecognized) /u.test(issue.message) ? general : issue.message;
}

/** Zod's type names that differ from JSON's. */
const TYPE_NAMES: Readonly<Record<string, string>> = { record: 'object', array: 'list', int: 'integer' };

function wrongType(issue: z.core.$ZodIssueInvalidType, loc: (string | number)[]): ValidationIssue {
  const name = TYPE_NAMES[issue.expected] ?? issue.expected;
  return { loc, msg: ownMessageOr(issue, `Input should be a valid ${name}`), type: `${name}_type` };
}

const TOO_SMALL = { bound: 'at least', length: 'short', compared: 'greater' };
const TOO_BIG = { bound: 'at most', length: 'long', compared: 'less' };

function outOfRange(
  { origin, inclusive }: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig,
  limit: number | bigint,
  { bound, length, compared }: typeof TOO_SMALL,
): { msg: string; type: string } {
  if (origin === 'string') {
    return { msg: `String should have ${bound} ${limit} characters`, type: `string_too_${length}` };
  }
  if (origin === 'array') return { msg: `List should have ${bound} ${limit} items`, type: `too_${length}` };
  return inclusive === false
    ? { msg: `Input should be ${compared} than ${limit}`, type: `${compared}_than` }
    : { msg: `Input should be ${compared} than or equal to ${limit}`, type: `${compared}_than_equal` };
}

/**
 * For a union, reports the branch that matched furthest: one with an issue inside the value, else one that accepted
 * the value's type. If every branch expected another type, one issue lists all of them.
 */
function unionIssues(issue: z.core.$ZodIssueInvalidUnion, loc: (string | number)[]): ValidationIssue[] {
  const inside = issue.errors.find((branch) => (branch[0]?.path.length ?? 0) > 0);
  const closest = inside ?? issue.errors.find((branch) => !branch.some(isTypeMismatch));
  if (closest !== undefined) return closest.flatMap((inner) => translateIssue(inner, loc));
  const translated = issue.errors.flatMap((branch) => branch.flatMap((inner) => translateIssue(inner, loc)));
  if (translated.some(({ type }) => type === 'missing')) return [missingField(loc)];
  return [{ loc, msg: [...new Set(translated.map(({ msg }) => msg))].join(', or: '), type: 'union' }];
}

function isTypeMismatch(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'invalid_type' || issue.code === 'invalid_value';
}

function ruleType(params: Record<string, unknown> | undefined): string {
  const type = params?.['type'];
  return typeof type === 'string' ? type : 'value_error';
}
