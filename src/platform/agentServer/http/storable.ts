import { invalid } from '../../http/problem.ts';

/**
 * An object of the request's body that a database column of type `jsonb` is to hold, which cannot hold U+0000.
 * @throws HttpProblem 422
 */
export function storable(value: Record<string, unknown>, field: string): Record<string, unknown> {
  // An escape of U+0000, and not a backslash that somebody wrote before "u0000".
  if (!/(?<!\\)(?:\\\\)*\\u0000/.test(JSON.stringify(value))) return value;
  throw invalid([{ loc: ['body', field], msg: 'Input should not contain U+0000', type: 'value_error' }]);
}
