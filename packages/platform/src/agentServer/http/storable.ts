import { invalid } from '../../http/problem.ts';

/**
 * An object of the request's body that a database column of type `jsonb` is to hold or to be compared with, which can
 * hold neither U+0000 nor half a character.
 * @throws HttpProblem 422
 */
export function storable(value: Record<string, unknown>, field: string): Record<string, unknown> {
  // An escape of either, and not a backslash that somebody wrote before "u0000".
  if (!/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/.test(JSON.stringify(value))) return value;
  const msg = 'Input should not contain U+0000 or half a surrogate pair';
  throw invalid([{ loc: ['body', field], msg, type: 'value_error' }]);
}

/** {@link storable} of a field that may be left out. @throws HttpProblem 422 */
export function storableIfGiven(
  value: Record<string, unknown> | null | undefined,
  field: string,
): Record<string, unknown> | undefined {
  return value == null ? undefined : storable(value, field);
}
