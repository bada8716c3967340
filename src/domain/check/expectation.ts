import { formatDuration } from '../duration.ts';
import type { WholeNumber } from '../scalars.ts';
import { asText } from './answer.ts';
import type { ExpectedTools } from './trajectory.ts';

/** What a check expects of its run. Every field that is present must be met. */
export interface Expectation {
  /** How the run must end. Default: `success`; of a part of `not` or `anyOf`: in any way. */
  readonly status?: 'success' | 'error' | 'interrupted';
  /** Text that the answer must contain. */
  readonly contains?: string;
  /** A regular expression that the answer must match. */
  readonly matches?: string;
  /** A dot path into the final values. Default: the answer; of a part of `not` or `anyOf`: that of the whole. */
  readonly path?: string;
  /** The value that the path must lead to. */
  readonly equals?: unknown;
  /** The JSON Schema of the value at the path, or of the JSON that the answer is. */
  readonly jsonSchema?: Readonly<Record<string, unknown>>;
  /** The number at the path, or the only one in the answer. */
  readonly number?: ExpectedNumber;
  /** The tools that the agent calls. */
  readonly tools?: ExpectedTools;
  /** How many tool calls the agent makes at most. */
  readonly maxToolCalls?: WholeNumber;
  /** How many tokens the agent's messages report at most, input and output together. */
  readonly maxTokens?: WholeNumber;
  /** The longest time from request to end. */
  readonly maxLatencyMs?: WholeNumber;
  /** What must not hold as a whole. */
  readonly not?: Expectation;
  /** Of these, one at least must hold. */
  readonly anyOf?: readonly Expectation[];
  /** Of these, each must hold. */
  readonly allOf?: readonly Expectation[];
  /** How the answer compares with the reference of a dataset's row. */
  readonly reference?: 'equals' | 'contains';
}

/** A number that is expected: `equals` within the tolerance, and between `min` and `max`. */
export interface ExpectedNumber {
  readonly equals?: number;
  /** How far from `equals` it may be. Default: 0. */
  readonly tolerance?: number;
  readonly min?: number;
  readonly max?: number;
}

export const PATTERN_MAX_CHARACTERS = 500;

/** How long a regular expression, or a JSON Schema, may take with one answer. */
export const MATCH_MAX_MS = 1_000;

/**
 * Whether a regular expression matches a text; `null` if it takes longer than {@link MATCH_MAX_MS} to tell. Workflows
 * cannot load it.
 */
export type PatternCheck = (pattern: string, text: string) => boolean | null;

/** What is wrong with the regular expression of an expectation; `undefined` if nothing is. */
export function patternProblem(pattern: string): string | undefined {
  if (pattern.length > PATTERN_MAX_CHARACTERS) return `longer than ${PATTERN_MAX_CHARACTERS} characters`;
  try {
    new RegExp(pattern, 'u');
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** What is wrong with a regular expression, or with those in a JSON Schema, that was given up. */
export const TOO_SLOW = `takes longer than ${formatDuration(MATCH_MAX_MS)}: rewrite it without nested repetition, such as (a+)+`;

/** Why no run can meet an expectation, or why every run does; with the field that is wrong. */
export interface ImpossibleExpectation {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** What is impossible in an expectation, and in its parts. */
export function impossibilities(
  expect: Expectation,
  matchesPattern: PatternCheck,
): readonly ImpossibleExpectation[] {
  const of = (part: Expectation) => impossibilities(part, matchesPattern);
  const { number, tools, not, anyOf = [], allOf = [], reference } = expect;
  return [
    ...(isRounded(expect.equals) ? found(ROUNDED, 'equals') : []),
    ...(reference !== undefined && expect[reference] !== undefined
      ? found(`names what the answer ${reference}, too: leave one of them out`, 'reference')
      : []),
    ...(number === undefined ? [] : within(['number'], impossibleNumber(number))),
    ...textImpossibilities(expect, matchesPattern),
    ...toolImpossibilities(tools, expect.maxToolCalls),
    ...(not === undefined ? [] : within(['not'], [...emptyPart(not), ...of(not)])),
    ...anyOf.flatMap((part, index) => within(['anyOf', index], [...emptyPart(part), ...of(part)])),
    ...allOf.flatMap((part, index) => within(['allOf', index], of(part))),
  ];
}

type Found = readonly ImpossibleExpectation[];

function found(message: string, ...path: readonly PropertyKey[]): Found {
  return [{ path, message }];
}

function within(path: readonly PropertyKey[], problems: Found): Found {
  return problems.map((problem) => ({ ...problem, path: [...path, ...problem.path] }));
}

function emptyPart(part: Expectation): Found {
  const says = Object.entries(part).some(([field, value]) => field !== 'path' && value !== undefined);
  return says ? [] : found('expects nothing, so every run meets it: name what is expected');
}

function impossibleNumber({ equals, tolerance, min, max }: ExpectedNumber): Found {
  if (equals === undefined && min === undefined && max === undefined) {
    return found('expected equals, min or max');
  }
  if (tolerance !== undefined && equals === undefined) {
    return found('has no effect without equals: set equals, or widen min and max', 'tolerance');
  }
  if (min !== undefined && max !== undefined && min > max) {
    return found(`no number is at least ${min} and at most ${max}: swap min and max`, 'min');
  }
  if (equals === undefined) return [];
  const reach = tolerance ?? 0;
  if (reach === 0 && isRounded(equals)) return found(ROUNDED, 'equals');
  const isOutside = equals + reach < (min ?? -Infinity) || equals - reach > (max ?? Infinity);
  return isOutside ? found('lies outside of min and max: no number meets both', 'equals') : [];
}

function textImpossibilities(
  { equals, contains, matches }: Expectation,
  matchesPattern: PatternCheck,
): Found {
  if (typeof equals !== 'string') return [];
  if (contains !== undefined && !equals.includes(contains)) {
    return found('does not contain what "contains" names: no answer meets both', 'equals');
  }
  if (matches === undefined || patternProblem(matches) !== undefined) return [];
  const isMatch = matchesPattern(matches, equals);
  if (isMatch === null) return found(`on "equals" ${TOO_SLOW}`, 'matches');
  return isMatch ? [] : found('does not match "matches": no answer meets both', 'equals');
}

function toolImpossibilities(tools: ExpectedTools | undefined, most: number | undefined): Found {
  if (tools === undefined) return [];
  const { mode = 'strict', calls } = tools;
  if (isRounded(calls)) return found(ROUNDED, 'tools', 'calls');
  if (mode === 'superset' && calls.length === 0) {
    return found(
      'every run meets it: list the calls that must be made, or use mode strict',
      'tools',
      'calls',
    );
  }
  if (mode === 'subset' || most === undefined || calls.length <= most) return [];
  return found(`allows fewer than the ${calls.length} calls of "tools": no run meets both`, 'maxToolCalls');
}

const ROUNDED =
  'has a whole number beyond 2^53, which JSON rounds: other numbers would equal it, so compare text';

function isRounded(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(isRounded);
}

/** Why the reference of a row cannot be compared with; `undefined` if it can, or no expectation compares with it. */
export function referenceProblem(reference: unknown, expects: readonly Expectation[]): string | undefined {
  if (!expects.some(hasReference)) return undefined;
  if (reference !== undefined) return isRounded(reference) ? `reference: ${ROUNDED}` : undefined;
  return 'the answer is compared with the row’s reference, and it has none: add "reference"';
}

/** Whether an expectation, or a part of it, bounds how long the run takes. */
export function hasMaxLatency(expect: Expectation): boolean {
  return expect.maxLatencyMs !== undefined || partsOf(expect).some(hasMaxLatency);
}

/** Whether an expectation, or a part of it, compares with a reference. */
export function hasReference(expect: Expectation): boolean {
  return expect.reference !== undefined || partsOf(expect).some(hasReference);
}

function partsOf({ not, anyOf = [], allOf = [] }: Expectation): readonly Expectation[] {
  return [...(not === undefined ? [] : [not]), ...anyOf, ...allOf];
}

/** An expectation with what a row's reference says in the place of `reference`. */
export function withReference(expect: Expectation, value: unknown): Expectation {
  const { reference, equals, contains, not, anyOf, allOf, ...rest } = expect;
  const ofPart = (part: Expectation) => withReference(part, value);
  return {
    ...rest,
    equals: reference === 'equals' ? value : equals,
    contains: reference === 'contains' ? asText(value) : contains,
    not: not && ofPart(not),
    anyOf: anyOf?.map(ofPart),
    allOf: allOf?.map(ofPart),
  };
}
