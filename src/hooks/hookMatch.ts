import { matchesPattern } from '../config/answerSchema.ts';
import { valueAt } from '../domain/check/answer.ts';
import { TOO_SLOW } from '../domain/check/expectation.ts';
import type { HookEvent } from '../domain/hooks/hookEvent.ts';

/** The required value of a field: this text, number or boolean, or text that matches a regular expression. */
type FieldPattern = string | number | boolean | { readonly matches: string };

/** Selects the events of a rule. */
export interface HookPattern {
  readonly status: HookEvent['status'] | 'any';
  /** By dot path into the event's fields. */
  readonly match: Readonly<Record<string, FieldPattern>>;
}

/** Bounds the value that a regular expression is matched against, because outsiders write it. */
const MATCHED_MAX_CHARACTERS = 1_000;

/** Why a rule does not match an event; `undefined`: it matches. */
export function mismatch(
  { status, match }: HookPattern,
  event: Pick<HookEvent, 'status'>,
  fields: unknown,
): string | undefined {
  if (status !== 'any' && status !== event.status) return `it is ${event.status}, not ${status}`;
  for (const [path, pattern] of Object.entries(match)) {
    const text = fieldText(fields, path);
    if (text === undefined) return `it has no "${path}"`;
    if (typeof pattern !== 'object') {
      if (text !== String(pattern)) return `"${path}" is not "${String(pattern)}"`;
      continue;
    }
    const isMatch = matchesPattern(pattern.matches, text.slice(0, MATCHED_MAX_CHARACTERS));
    if (isMatch === null) return `on "${path}", /${pattern.matches}/ ${TOO_SLOW}`;
    if (!isMatch) return `"${path}" does not match /${pattern.matches}/`;
  }
  return undefined;
}

/** The text, number or boolean at a dot path, as text; `undefined`: none. */
export function fieldText(fields: unknown, path: string): string | undefined {
  const value = valueAt(fields, path);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}
