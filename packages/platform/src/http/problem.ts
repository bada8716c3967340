import type { ServerResponse } from 'node:http';

import type { Context, ErrorHandler, Hono, MiddlewareHandler, NotFoundHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { routePath } from 'hono/route';
import type { RouterRoute } from 'hono/types';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Logger } from 'pino';

import type { ValidationIssue } from '@slipway/contract/httpErrors';
import { isDatabaseUnavailable } from '../store/databaseOutage.ts';

/**
 * An error answer that a handler throws, and {@link respondWithProblem} sends: `{"detail": "…"}`, or `{"detail":
 * [{loc, msg, type}]}` for a validation error (contract 000, "Errors"). It is an answer, not a failure of ours, so it
 * has a status and no code.
 */
export class HttpProblem extends Error {
  readonly status: ContentfulStatusCode;
  readonly detail: string | ValidationIssue[];
  readonly headers: Record<string, string>;

  /** The caller sees `detail`: one sentence without secrets, or the validation issues of a 422. */
  constructor(
    status: ContentfulStatusCode,
    detail: string | ValidationIssue[],
    options: { headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(typeof detail === 'string' ? detail : 'The request failed validation.', options);
    this.name = 'HttpProblem';
    this.status = status;
    this.detail = detail;
    this.headers = options.headers ?? (status === 401 ? CHALLENGE : {});
  }
}

/** What RFC 9110 requires of a 401: the kind of credential to send. */
const CHALLENGE = { 'www-authenticate': 'ApiKey' };

/** A 422 with the given issues. */
export function invalid(issues: ValidationIssue[]): HttpProblem {
  return new HttpProblem(422, issues);
}

/**
 * The answer to an error. An {@link HttpProblem} is its own, a full disk is 507, an unreachable database 503. Everything
 * else is 500, without details.
 */
export function problemOf(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof HTTPException) return new HttpProblem(error.status, error.message);
  if (isDiskFull(error)) return new HttpProblem(507, 'The disk of this platform is full.');
  if (!isDatabaseUnavailable(error)) return new HttpProblem(500, 'Internal Server Error');
  const detail = 'The database of this platform does not answer right now. Try again in 1 s.';
  return new HttpProblem(503, detail, { headers: { 'retry-after': '1' } });
}

/** Sends {@link problemOf} an error of a handler, and logs a failure of ours. */
export function respondWithProblem(error: unknown, c: Context, log?: Logger): Response {
  const { status, detail, headers } = problemOf(error);
  const isFailure = status >= 500 && !(error instanceof HttpProblem);
  // A client that leaves while its body is read causes the same error as a database that is away.
  if (isFailure && !(status === 503 && c.req.raw.signal.aborted)) {
    // The route's pattern, not the path itself, which may contain signed tokens.
    log?.error({ err: error, method: c.req.method, path: routePath(c), status }, 'a request failed');
  }
  return c.json({ detail }, status, headers);
}

/** Answers a request to an agent with a problem that other origins may read. */
export function answerProblem(response: ServerResponse, problem: HttpProblem): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(problem.status, {
    'content-type': 'application/json',
    'access-control-allow-origin': '*',
    ...problem.headers,
  });
  response.end(JSON.stringify({ detail: problem.detail }));
}

/** {@link respondWithProblem} for Hono's `app.onError`. */
export function problemHandler(log: Logger): ErrorHandler {
  return (error, c) => respondWithProblem(error, c, log);
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * The answer to a request that no route of the app serves, for Hono's `app.notFound`: 405 with `Allow` if other
 * methods are served on its path, else 404.
 */
export function unservedHandler(app: Hono): NotFoundHandler {
  return (c) => {
    // `/threads/search` is no thread: only the methods of its own routes count.
    const own = methodProblem(app, c, ({ path }) => path === c.req.path);
    const problem = own ?? methodProblem(app, c, () => true) ?? new HttpProblem(404, 'Not Found');
    return respondWithProblem(problem, c);
  };
}

/** The 405 with `Allow` if routes of an app serve the request's path with other methods, else `undefined`. */
export function methodProblem(
  app: Hono,
  { req: { method, path } }: Context,
  counts: (route: RouterRoute) => boolean,
): HttpProblem | undefined {
  const served = METHODS.filter((other) =>
    // Middleware matches every method.
    app.router.match(other, path)[0].some(([[, route]]) => route.method === other && counts(route)),
  );
  if (served.length === 0) return undefined;
  const isHeadRefused = app.router.match('GET', path)[0].some(([[handler]]) => handler === refuseHead);
  const allow = served.join(', ').replace('GET', isHeadRefused ? 'GET' : 'GET, HEAD');
  return new HttpProblem(405, `${method} is not allowed here. Allowed: ${allow}.`, { headers: { allow } });
}

/** For a GET that changes something or waits for a run: Hono also runs it for HEAD, which gets {@link unservedHandler}. */
export const refuseHead: MiddlewareHandler = async (c, next) =>
  c.req.method === 'HEAD' ? c.notFound() : next();

const PG_DISK_FULL = '53100';

/** Whether an error of the file system or the database means a full disk or quota. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOSPC' || code === 'EDQUOT' || code === PG_DISK_FULL || isDiskFull(error.cause);
}
