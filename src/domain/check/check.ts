import { canonicalJson } from '@slipway/contract/canonicalJson';

import { cutText } from '../bounds.ts';
import { isRecord, type WholeNumber } from '../scalars.ts';

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

/** Judges a run by an expectation. */
export function judge(expect: Expectation, run: ObservedRun): Judgement {
  const { status = 'success', path, contains, matches, equals, maxLatencyMs } = expect;
  const looked = path === undefined ? answerText(run.values) : valueAt(run.values, path);
  const text = asText(looked);
  const where = path === undefined ? 'the answer' : `"${path}"`;
  const reasons: string[] = [];
  if (run.status !== status) {
    const why = run.error === undefined ? '' : `: ${shorten(run.error)}`;
    reasons.push(`the run ended "${run.status}" instead of "${status}"${why}`);
  }
  if (contains !== undefined && !text.includes(contains)) {
    reasons.push(`${where} does not contain ${quote(contains)}: ${quote(text)}`);
  }
  if (matches !== undefined) {
    if (patternProblem(matches) !== undefined) {
      reasons.push(`"${shorten(matches)}" is not a regular expression`);
    } else if (!new RegExp(matches, 'u').test(text)) {
      reasons.push(`${where} does not match /${shorten(matches)}/: ${quote(text)}`);
    }
  }
  if (equals !== undefined && canonicalJson(looked) !== canonicalJson(equals)) {
    reasons.push(`${where} is ${quote(text)} instead of ${quote(asText(equals))}`);
  }
  if (maxLatencyMs !== undefined && run.latencyMs > maxLatencyMs) {
    reasons.push(`the run took ${Math.round(run.latencyMs)} ms, at most ${maxLatencyMs} ms are allowed`);
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
    return (error as Error).message;
  }
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
  return path.split('.').reduce<unknown>((value, key) => {
    if (Array.isArray(value)) return /^-?\d+$/.test(key) ? (value as unknown[]).at(Number(key)) : undefined;
    return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }, values);
}

function asText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function quote(text: string): string {
  return JSON.stringify(shorten(text));
}

function shorten(text: string): string {
  return cutText(text, ANSWER_MAX_BYTES);
}
