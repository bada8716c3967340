import { valueAt } from '../check/answer.ts';
import type { HookEvent } from './hookEvent.ts';

/** What a field must be: this text, number or truth value, or text that matches a regular expression. */
type FieldPattern = string | number | boolean | { readonly matches: string };

/** Which events a rule is for. */
export interface HookPattern {
  readonly status: HookEvent['status'] | 'any';
  /** By dot path into the event's fields. */
  readonly match: Readonly<Record<string, FieldPattern>>;
}

/** An outsider writes the value that a regular expression is matched against. */
const MATCHED_MAX_CHARACTERS = 1_000;

/** Why a rule is not for an event; `undefined`: it is. */
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
    } else if (!new RegExp(pattern.matches, 'u').test(text.slice(0, MATCHED_MAX_CHARACTERS))) {
      return `"${path}" does not match /${pattern.matches}/`;
    }
  }
  return undefined;
}

/** The text, number or truth value at a dot path, as text; `undefined`: there is none. */
export function fieldText(fields: unknown, path: string): string | undefined {
  const value = valueAt(fields, path);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}
