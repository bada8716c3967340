import type { ServerResponse } from 'node:http';

import type { Context, ErrorHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { routePath } from 'hono/route';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Logger } from 'pino';

import type { ValidationIssue } from '@slipway/contract/httpErrors';
import { isDatabaseAway } from '../store/databaseAway.ts';

/**
 * An answer other than success, thrown by a handler and turned into the wire's shape by
 * {@link respondWithProblem}: `{"detail": "…"}`, or `{"detail": [{loc, msg, type}]}` for a validation error
 * (contract 000, "Errors"). It is an answer and not a failure of ours, so it carries a status and no code.
 */
export class HttpProblem extends Error {
  readonly status: ContentfulStatusCode;
  readonly detail: string | ValidationIssue[];
  readonly headers: Record<string, string>;

  /** `detail` is shown to the caller: one sentence without secrets, or the validation issues of a 422. */
  constructor(
    status: ContentfulStatusCode,
    detail: string | ValidationIssue[],
    options: { headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(typeof detail === 'string' ? detail : 'The request failed validation.', options);
    this.name = 'HttpProblem';
    this.status = status;
    this.detail = detail;
    this.headers = options.headers ?? {};
  }
}

/** A 422 with the given issues. */
export function invalid(issues: ValidationIssue[]): HttpProblem {
  return new HttpProblem(422, issues);
}

/**
 * The answer for anything that a handler threw. An {@link HttpProblem} becomes its own status and body, a full
 * disk becomes 507, a database that does not answer 503, everything else 500 with a body that tells nothing of the inside and one log line that does.
 */
export function respondWithProblem(error: unknown, c: Context, log?: Logger): Response {
  if (error instanceof HttpProblem) {
    return c.json({ detail: error.detail }, error.status, error.headers);
  }
  if (error instanceof HTTPException) return c.json({ detail: error.message }, error.status);
  // The route's pattern, not the path itself: paths may carry signed tokens.
  const failure = { err: error, method: c.req.method, path: routePath(c) };
  if (isDiskFull(error)) {
    log?.error(failure, 'the disk is full');
    return c.json({ detail: 'The disk of this platform is full.' }, 507);
  }
  if (isDatabaseAway(error)) {
    log?.error(failure, 'the database does not answer');
    const detail = 'The database of this platform does not answer right now. Try again in 1 s.';
    return c.json({ detail }, 503, { 'retry-after': '1' });
  }
  log?.error(failure, 'a request failed');
  return c.json({ detail: 'Internal Server Error' }, 500);
}

/**
 * Answers a request to an agent with a problem, also to pages of other origins, which are shown why they were refused.
 * The body that may still come is not read: the connection ends.
 */
export function answerProblem(response: ServerResponse, problem: HttpProblem): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(problem.status, {
    'content-type': 'application/json',
    'access-control-allow-origin': '*',
    connection: 'close',
    ...problem.headers,
  });
  response.end(JSON.stringify({ detail: problem.detail }));
}

/** {@link respondWithProblem} as Hono's `app.onError` takes it. */
export function problemHandler(log: Logger): ErrorHandler {
  return (error, c) => respondWithProblem(error, c, log);
}

/** The answer for a path that no route serves, as Hono's `app.notFound` takes it. */
export function respondWithNotFound(c: Context): Response {
  return c.json({ detail: 'Not Found' }, 404);
}

/** Postgres' code of a disk that is full. */
const PG_DISK_FULL = '53100';

/** Whether an error of the file system or the database says that nothing more can be written (no space, or over quota). */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOSPC' || code === 'EDQUOT' || code === PG_DISK_FULL || isDiskFull(error.cause);
}
