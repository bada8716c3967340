import { toValidationIssues, type ValidationPrefix } from '@slipway/contract/httpErrors';
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { z } from 'zod';

import { HttpProblem, invalid } from './problem.ts';

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
    // The engine's message quotes the body, which may hold secrets: only the kind of failure is answered.
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

/** The most that a JSON body may have, in bytes, where nothing else is said: 1 MB. */
const JSON_BODY_MAX_BYTES = 1_048_576;

/** Of a body that is too large, what is read all the same before it is refused: so many bytes, for so long. */
const DISCARDED_MAX_BYTES = 64 * 1_048_576;
const DISCARDED_MAX_MS = 5_000;

/**
 * Middleware that answers 413 with `{detail}` when the body is larger than `maxBytes`, also without a length. A client
 * that is still sending when its connection ends never hears why, so a body that says its length is read to its end
 * first, where that is not too far, and thrown away.
 */
export function limitBody(maxBytes: number = JSON_BODY_MAX_BYTES): MiddlewareHandler {
  return bodyLimit({
    maxSize: maxBytes,
    onError: async (c) => {
      const { body } = c.req.raw;
      const length = Number(c.req.header('content-length'));
      if (body !== null && !body.locked && length <= DISCARDED_MAX_BYTES) await discard(body);
      // The rest is not read, so the connection cannot serve another request.
      throw new HttpProblem(413, `The body is larger than ${maxBytes} bytes.`, {
        headers: { connection: 'close' },
      });
    },
  });
}

async function discard(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const timer = setTimeout(() => reader.releaseLock(), DISCARDED_MAX_MS);
  try {
    while (!(await reader.read()).done);
  } catch {
    // It takes too long, or the client has gone.
  } finally {
    clearTimeout(timer);
  }
}
