import { canonicalJson } from '@slipway/contract/json';

import { cutText } from '../bounds.ts';
import { parsedJson } from '../scalars.ts';
import { answerText, asText, numbersIn, valueAt } from './answer.ts';
import type { ObservedRun } from './check.ts';
import {
  type Expectation,
  type ExpectedNumber,
  type PatternCheck,
  patternProblem,
  TOO_SLOW,
} from './expectation.ts';
import { trajectoryOf, trajectoryProblem } from './trajectory.ts';

export interface Judgement {
  readonly passed: boolean;
  /** Why not: one sentence for each part of the expectation that did not hold. Empty when passed. */
  readonly reasons: readonly string[];
  /** The answer as the check read it, cut to {@link ANSWER_MAX_BYTES}. */
  readonly answer: string;
  readonly wholeAnswer: string;
}

/** What workflows cannot load. */
export interface AnswerChecks {
  /** What is wrong with a value, or with the JSON Schema that it should fit: then that is unknown. `null`: nothing. */
  readonly schema: (
    schema: Readonly<Record<string, unknown>>,
    value: unknown,
  ) => { readonly problem: string; readonly isUnknown: boolean } | null;
  readonly pattern: PatternCheck;
}

/** What a verdict holds of an answer, and of each other text in it; whole answers belong in the artifact store. */
const ANSWER_MAX_BYTES = 400;

export function judge(expect: Expectation, run: ObservedRun, checks: AnswerChecks): Judgement {
  const text = asText(lookedAt(expect, run));
  const whole = { status: 'success', ...expect } as const;
  const reasons = findings(whole, run, checks).map(({ reason }) => reason);
  return { passed: reasons.length === 0, reasons, answer: shorten(text), wholeAnswer: text };
}

interface Finding {
  readonly reason: string;
  /** Whether the run does not show if it held: then its opposite did not hold either. */
  readonly isUnknown?: true;
}

function findings(expect: Expectation, run: ObservedRun, checks: AnswerChecks): readonly Finding[] {
  const { status, contains, matches, equals, maxLatencyMs } = expect;
  const looked = lookedAt(expect, run);
  const text = asText(looked);
  const where = placeOf(expect);
  const reasons: string[] = [];
  if (status !== undefined && run.status !== status) {
    const why = run.error === undefined ? '' : `: ${shorten(run.error)}`;
    reasons.push(`the run ended "${run.status}" instead of "${status}"${why}`);
  }
  if (contains !== undefined && !text.includes(contains)) {
    reasons.push(`${where} does not contain ${quote(contains)}: ${quote(text)}`);
  }
  if (equals !== undefined && canonicalJson(comparable(looked, expect)) !== canonicalJson(equals)) {
    reasons.push(`${where} is ${quote(text)} instead of ${quote(asText(equals))}`);
  }
  if (maxLatencyMs !== undefined && run.latencyMs > maxLatencyMs) {
    reasons.push(`the run took ${Math.ceil(run.latencyMs)} ms, at most ${maxLatencyMs} ms are allowed`);
  }
  return [
    ...reasons.map((reason) => ({ reason })),
    ...(expect.reference === undefined ? [] : [NO_REFERENCE]),
    ...(matches === undefined ? [] : patternFindings(matches, text, where, checks)),
    ...schemaFindings(expect, run, checks),
    ...numberFindings(expect, looked),
    ...trajectoryFindings(expect, run),
    ...partFindings(expect, run, checks),
  ];
}

/** A dataset's rows have references, which take the place of this field before a run is judged. */
const NO_REFERENCE: Finding = { reason: 'there is no reference to compare with', isUnknown: true };

function lookedAt({ path }: Expectation, run: ObservedRun): unknown {
  return path === undefined ? answerText(run.values) : valueAt(run.values, path);
}

/** The answer is text: what is no text is compared with the JSON in it. */
function comparable(looked: unknown, { path, equals }: Expectation): unknown {
  return path === undefined && typeof equals !== 'string' ? parsedJson(looked as string) : looked;
}

function placeOf({ path }: Expectation): string {
  return path === undefined ? 'the answer' : `"${path}"`;
}

function patternFindings(
  matches: string,
  text: string,
  where: string,
  checks: AnswerChecks,
): readonly Finding[] {
  const shown = shorten(matches);
  if (patternProblem(matches) !== undefined) return [{ reason: `"${shown}" is not a regular expression` }];
  const isMatch = checks.pattern(matches, text);
  if (isMatch === null) return [{ reason: `on ${where}, /${shown}/ ${TOO_SLOW}`, isUnknown: true }];
  return isMatch ? [] : [{ reason: `${where} does not match /${shown}/: ${quote(text)}` }];
}

function schemaFindings(expect: Expectation, run: ObservedRun, checks: AnswerChecks): readonly Finding[] {
  const { jsonSchema, path } = expect;
  if (jsonSchema === undefined) return [];
  const where = placeOf(expect);
  const looked = lookedAt(expect, run);
  const value = path === undefined ? parsedJson(looked as string) : looked;
  if (value === undefined) {
    return [
      { reason: `${where} ${path === undefined ? 'is not JSON' : 'is missing'}: ${quote(asText(looked))}` },
    ];
  }
  const found = checks.schema(jsonSchema, value);
  if (found === null) return [];
  return found.isUnknown
    ? [{ reason: `jsonSchema ${shorten(found.problem)}`, isUnknown: true }]
    : [{ reason: `${where} does not fit its JSON Schema: ${shorten(found.problem)}` }];
}

function numberFindings(expect: Expectation, looked: unknown): readonly Finding[] {
  const { number } = expect;
  if (number === undefined) return [];
  const where = placeOf(expect);
  const numbers = typeof looked === 'number' ? [looked] : typeof looked === 'string' ? numbersIn(looked) : [];
  const [only, another] = numbers;
  if (only === undefined) return [{ reason: `${where} has no number: ${quote(asText(looked))}` }];
  if (another !== undefined) {
    const reason = `${where} has ${numbers.length} numbers, so none is compared: ${quote(asText(looked))}`;
    return [{ reason }];
  }
  return numberProblems(number, only).map((problem) => ({ reason: `${where} is ${only}: ${problem}` }));
}

function numberProblems({ equals, tolerance = 0, min, max }: ExpectedNumber, value: number): string[] {
  const isOff = equals !== undefined && !isWithin(value, equals, tolerance);
  const within = tolerance === 0 ? '' : ` within ${tolerance}`;
  return [
    ...(isOff ? [`expected ${equals}${within}`] : []),
    ...(min !== undefined && !(value >= min) ? [`expected at least ${min}`] : []),
    ...(max !== undefined && !(value <= max) ? [`expected at most ${max}`] : []),
  ];
}

function isWithin(value: number, equals: number, tolerance: number): boolean {
  // The difference of decimal numbers is not exact: 1.1 - 1.0 is more than 0.1. That of whole numbers is.
  const isExact = Number.isInteger(value) && Number.isInteger(equals);
  const rounding = isExact ? 0 : Number.EPSILON * Math.max(Math.abs(equals), tolerance);
  return Math.abs(value - equals) <= tolerance + rounding;
}

function trajectoryFindings(
  { tools, maxToolCalls, maxTokens }: Expectation,
  run: ObservedRun,
): readonly Finding[] {
  if (tools === undefined && maxToolCalls === undefined && maxTokens === undefined) return [];
  const trajectory = trajectoryOf(run.values);
  if (trajectory === null) {
    const reason = 'the run’s values have no messages, so its tool calls and tokens are unknown';
    return [{ reason, isUnknown: true }];
  }
  const { calls, tokens } = trajectory;
  const problem = tools === undefined ? undefined : trajectoryProblem(tools, calls);
  return [
    ...(problem === undefined ? [] : [{ reason: `the tool calls differ: ${shorten(problem)}` }]),
    ...(maxToolCalls !== undefined && calls.length > maxToolCalls
      ? [{ reason: `the agent made ${calls.length} tool calls, at most ${maxToolCalls} are allowed` }]
      : []),
    ...tokenFindings(maxTokens, tokens),
  ];
}

function tokenFindings(most: number | undefined, tokens: number | null): readonly Finding[] {
  if (most === undefined) return [];
  if (tokens === null) {
    return [
      { reason: 'no message reports its tokens (usage_metadata), so maxTokens is unknown', isUnknown: true },
    ];
  }
  return tokens > most ? [{ reason: `the run took ${tokens} tokens, at most ${most} are allowed` }] : [];
}

function partFindings(expect: Expectation, run: ObservedRun, checks: AnswerChecks): readonly Finding[] {
  const { not, anyOf, allOf = [], path } = expect;
  const of = (part: Expectation) => findings(path === undefined ? part : { path, ...part }, run, checks);
  return [
    ...(not === undefined ? [] : notFindings(of(not), not)),
    ...(anyOf === undefined ? [] : anyFindings(anyOf.map(of))),
    ...allOf.flatMap(of),
  ];
}

/** A part that does not hold for sure is what `not` asks for. */
function notFindings(part: readonly Finding[], not: Expectation): readonly Finding[] {
  if (part.some(({ isUnknown }) => isUnknown !== true)) return [];
  if (part.length > 0) return part;
  return [{ reason: `what "not" names holds: ${shorten(JSON.stringify(not))}` }];
}

function anyFindings(parts: readonly (readonly Finding[])[]): readonly Finding[] {
  if (parts.length === 0 || parts.some((part) => part.length === 0)) return [];
  const all = parts.map((part) => part.map(({ reason }) => reason).join(', and '));
  const reason = `none of "anyOf" holds: ${all.map((each, index) => `(${index + 1}) ${each}`).join('; ')}`;
  const isUnknown = parts.some((part) => part.every((finding) => finding.isUnknown === true));
  return [{ reason: shorten(reason, ANSWER_MAX_BYTES * 2), isUnknown: isUnknown || undefined }];
}

function quote(text: string): string {
  return JSON.stringify(shorten(text));
}

function shorten(text: string, bytes = ANSWER_MAX_BYTES): string {
  return cutText(text, bytes);
}
