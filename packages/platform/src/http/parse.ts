import type { Context } from 'hono';
import type { z } from 'zod';

import { toValidationIssues, type ValidationPrefix } from '@slipway/contract/httpErrors';
import { invalid } from './problem.ts';

/**
 * The JSON body, checked. The content type is not looked at: several clients leave it out.
 * @throws HttpProblem 422 with `loc` starting at `body`; an absent body and one that is not JSON included.
 */
export async function parseBody<S extends z.ZodType>(schema: S, c: Context): Promise<z.output<S>> {
  const text = await c.req.text();
  if (text.trim() === '') {
    throw invalid([{ loc: ['body'], msg: 'Field required', type: 'missing' }]);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // The engine's message quotes the body, which may hold secrets: only the kind of failure is told.
    if (!(error instanceof SyntaxError)) throw error;
    throw invalid([{ loc: ['body'], msg: 'The body is not valid JSON', type: 'json_invalid' }]);
  }
  return check(schema, value, 'body');
}

/** Like {@link parseBody}, but an absent body counts as `{}`: for endpoints where every field is optional. */
export async function parseOptionalBody<S extends z.ZodType>(schema: S, c: Context): Promise<z.output<S>> {
  const text = await c.req.text();
  return text.trim() === '' ? check(schema, {}, 'body') : parseBody(schema, c);
}

/**
 * The query, checked. A name given once is a string, one given several times an array of strings: schemas coerce.
 * @throws HttpProblem 422 with `loc` starting at `query`.
 */
export function parseQuery<S extends z.ZodType>(schema: S, c: Context): z.output<S> {
  const query: Record<string, string | string[]> = {};
  for (const [name, values] of Object.entries(c.req.queries())) {
    const [only] = values;
    query[name] = values.length === 1 && only !== undefined ? only : values;
  }
  return check(schema, query, 'query');
}

/** The path's parameters, checked. @throws HttpProblem 422 with `loc` starting at `path`. */
export function parsePath<S extends z.ZodType>(schema: S, c: Context): z.output<S> {
  return check(schema, c.req.param(), 'path');
}

/** The headers that a schema names, checked. @throws HttpProblem 422 with `loc` starting at `header`. */
export function parseHeaders<S extends z.ZodObject>(schema: S, c: Context): z.output<S> {
  const named = Object.keys(schema.shape).map((name) => [name, c.req.header(name)]);
  return check(schema, Object.fromEntries(named), 'header');
}

function check<S extends z.ZodType>(schema: S, value: unknown, prefix: ValidationPrefix): z.output<S> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw invalid(toValidationIssues(parsed.error, prefix));
  return parsed.data;
}
