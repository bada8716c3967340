import { isUtf8 } from 'node:buffer';

import {
  toValidationIssues,
  type ValidationIssue,
  type ValidationPrefix,
} from '@slipway/contract/httpErrors';
import { parsedJson } from '@slipway/contract/json';
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { z } from 'zod';

import { HttpProblem, invalid } from './problem.ts';

/**
 * The validated JSON body. The content type is ignored, because several clients leave it out.
 * @throws HttpProblem 422 with `loc` starting at `body`, also for an absent body, invalid UTF-8, and as {@link bodyJson}.
 */
export async function parseBody<S extends z.ZodType>(schema: S, c: Context): Promise<z.output<S>> {
  const text = await readText(c);
  if (text.trim() === '') {
    throw invalid([{ loc: ['body'], msg: 'Field required', type: 'missing' }]);
  }
  const value = bodyJson(text);
  // The engine's message quotes the body, which may contain secrets, so only the kind of error is returned.
  if (value === undefined) throw notJson();
  return check(schema, value, 'body');
}

/**
 * The JSON of a body; undefined if it is not JSON, or nested deeper than 1,000 levels.
 * @throws HttpProblem 422 for a part that would not be stored as it was sent.
 */
export function bodyJson(text: string): unknown {
  const value = parsedJson(text);
  const issue = findLostPart(value);
  if (issue !== undefined) throw invalid([{ ...issue, loc: ['body', ...issue.loc] }]);
  return value;
}

/** The first number that JSON would write as null (`1e400`), or name that copying an object loses (`__proto__`). */
function findLostPart(value: unknown): ValidationIssue | undefined {
  if (typeof value === 'number' && !Number.isFinite(value))
    return { loc: [], msg: 'Input should be a finite number', type: 'finite_number' };
  if (typeof value !== 'object' || value === null) return undefined;
  // The entries of a long list would take a hundred times as long.
  for (const name of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const inner = (value as Record<string | number, unknown>)[name];
    const issue = name === '__proto__' ? RESERVED_NAME : findLostPart(inner);
    if (issue !== undefined) return { ...issue, loc: [name, ...issue.loc] };
  }
  return undefined;
}

const RESERVED_NAME: ValidationIssue = {
  loc: [],
  msg: 'Input should have no field of this name',
  type: 'reserved_name',
};

/** A 422 for a body that is not JSON, or nested deeper than 1,000 levels. */
export function notJson(): HttpProblem {
  return invalid([
    {
      loc: ['body'],
      msg: 'The body is not valid JSON, or nested deeper than 1,000 levels',
      type: 'json_invalid',
    },
  ]);
}

/** The body's text. @throws HttpProblem 422 if it is not UTF-8, because a decoder would replace what it cannot read. */
export async function readText(c: Context): Promise<string> {
  if (isUtf8(await c.req.arrayBuffer())) return c.req.text();
  throw invalid([
    { loc: ['body'], msg: 'The body is not valid UTF-8, or is compressed', type: 'json_invalid' },
  ]);
}

/** Like {@link parseBody}, but an absent body counts as `{}`, for endpoints with only optional fields. */
export async function parseOptionalBody<S extends z.ZodType>(schema: S, c: Context): Promise<z.output<S>> {
  const text = await readText(c);
  return text.trim() === '' ? check(schema, {}, 'body') : parseBody(schema, c);
}

/**
 * The validated query. A name given once is a string, a repeated one an array of strings: schemas coerce.
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

/** The validated path parameters. @throws HttpProblem 422 with `loc` starting at `path`. */
export function parsePath<S extends z.ZodType>(schema: S, c: Context): z.output<S> {
  return check(schema, c.req.param(), 'path');
}

/** The validated headers of a schema. @throws HttpProblem 422 with `loc` starting at `header`. */
export function parseHeaders<S extends z.ZodObject>(schema: S, c: Context): z.output<S> {
  const named = Object.keys(schema.shape).map((name) => [name, c.req.header(name)]);
  return check(schema, Object.fromEntries(named), 'header');
}

function check<S extends z.ZodType>(schema: S, value: unknown, prefix: ValidationPrefix): z.output<S> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw invalid(toValidationIssues(parsed.error, prefix));
  return parsed.data;
}

/** The default limit of a JSON body, in bytes: 1 MB. */
const JSON_BODY_MAX_BYTES = 1_048_576;

/** Middleware that answers 413 with `{detail}` if the body is larger than `maxBytes`, also without a length. */
export function limitBody(maxBytes: number = JSON_BODY_MAX_BYTES): MiddlewareHandler {
  return bodyLimit({
    maxSize: maxBytes,
    onError: () => {
      throw new HttpProblem(413, `The body is larger than ${maxBytes} bytes.`);
    },
  });
}
