import { cutText } from '../bounds.ts';
import type { WholeNumber } from '../scalars.ts';

/** What a check expects of its run. Every field that is present must be met. */
export interface Expectation {
  /** How the run must end. Default: `success`. */
  readonly status?: 'success' | 'error' | 'interrupted';
  /** Text that the answer must contain. */
  readonly contains?: string;
  /** A regular expression that the answer must match. */
  readonly matches?: string;
  /** A dot path into the run's final values that `equals`, `contains` and `matches` look at. Default: the answer. */
  readonly path?: string;
  /** The value that the path must lead to. */
  readonly equals?: unknown;
  /** The longest time from request to end. */
  readonly maxLatencyMs?: WholeNumber;
}

/** One smoke test: a real run on the deployed agent, with an expectation. */
export interface Check {
  readonly name: string;
  /** The graph's name, or an assistant id. */
  readonly assistant: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly expect: Expectation;
  /** How long the run may take. */
  readonly timeoutMs: WholeNumber;
  /** The feedback key under which the verdict is recorded on the run's trace. */
  readonly feedbackKey?: string;
}

/** How a run went, as the check saw it. */
export interface ObservedRun {
  readonly status: 'success' | 'error' | 'interrupted' | 'timeout';
  /** The run's final values, as far as they came. */
  readonly values: unknown;
  /** The error that the run reported. */
  readonly error?: string;
  readonly latencyMs: number;
}

/** The judgement of one check. */
export interface Judgement {
  readonly passed: boolean;
  /** Why not: one sentence for each part of the expectation that did not hold. Empty when passed. */
  readonly reasons: readonly string[];
  /** The answer as the check read it, cut to {@link ANSWER_MAX_BYTES}. */
  readonly answer: string;
  /** The whole answer. */
  readonly wholeAnswer: string;
}

/** What a verdict holds of an answer, and of each other text in it; whole answers belong in the artifact store. */
const ANSWER_MAX_BYTES = 400;

/** Judges a run by an expectation. Pure: the same run gets the same judgement. */
export function judge(expect: Expectation, run: ObservedRun): Judgement {
  const reasons: string[] = [];
  const wanted = expect.status ?? 'success';
  if (run.status !== wanted) {
    const why = run.error === undefined ? '' : `: ${shorten(run.error)}`;
    reasons.push(`the run ended "${run.status}" instead of "${wanted}"${why}`);
  }
  const looked = expect.path === undefined ? answerText(run.values) : valueAt(run.values, expect.path);
  const text = asText(looked);
  const where = expect.path === undefined ? 'the answer' : `"${expect.path}"`;
  if (expect.contains !== undefined && !text.includes(expect.contains)) {
    reasons.push(`${where} does not contain ${quote(expect.contains)}: ${quote(text)}`);
  }
  if (expect.matches !== undefined) reasons.push(...mismatch(expect.matches, text, where));
  if (expect.equals !== undefined && !deepEqual(looked, expect.equals)) {
    reasons.push(`${where} is ${quote(text)} instead of ${quote(asText(expect.equals))}`);
  }
  if (expect.maxLatencyMs !== undefined && run.latencyMs > expect.maxLatencyMs) {
    reasons.push(
      `the run took ${Math.round(run.latencyMs)} ms, at most ${expect.maxLatencyMs} ms are allowed`,
    );
  }
  return { passed: reasons.length === 0, reasons, answer: shorten(text), wholeAnswer: text };
}

/** How long the regular expression of an expectation may be. */
export const PATTERN_MAX_CHARACTERS = 500;

/** What is wrong with the regular expression of an expectation; `undefined` if nothing is. */
export function patternProblem(pattern: string): string | undefined {
  if (pattern.length > PATTERN_MAX_CHARACTERS) return `longer than ${PATTERN_MAX_CHARACTERS} characters`;
  try {
    new RegExp(pattern, 'u');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function mismatch(pattern: string, text: string, where: string): readonly string[] {
  let expression: RegExp;
  try {
    expression = new RegExp(pattern, 'u');
  } catch {
    return [`"${shorten(pattern)}" is not a regular expression`];
  }
  return expression.test(text) ? [] : [`${where} does not match /${shorten(pattern)}/: ${quote(text)}`];
}

/**
 * The text that a person would call the agent's answer: the last message of a chat graph's `messages`,
 * otherwise the values as JSON.
 */
export function answerText(values: unknown): string {
  if (isRecord(values) && Array.isArray(values['messages'])) {
    const messages: unknown[] = values['messages'];
    return messageText(messages.at(-1));
  }
  return asText(values);
}

function messageText(message: unknown): string {
  if (!isRecord(message)) return asText(message);
  const content = message['content'];
  if (!Array.isArray(content)) return asText(content);
  return content
    .map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

/** What stands at a dot path into values; `undefined` where there is nothing. */
export function valueAt(values: unknown, path: string): unknown {
  let current: unknown = values;
  for (const key of path.split('.')) {
    if (Array.isArray(current) && /^-?\d+$/.test(key)) current = (current as unknown[]).at(Number(key));
    else if (Array.isArray(current)) return undefined;
    else if (isRecord(current) && Object.hasOwn(current, key)) current = current[key];
    else return undefined;
  }
  return current;
}

function deepEqual(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => deepEqual(item, right[index]));
  }
  if (Array.isArray(left) || Array.isArray(right) || !isRecord(left) || !isRecord(right)) return false;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && deepEqual(left[key], right[key]))
  );
}

function asText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function quote(text: string): string {
  return JSON.stringify(shorten(text));
}

function shorten(text: string): string {
  return cutText(text, ANSWER_MAX_BYTES);
}
