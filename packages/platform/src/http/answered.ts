import type { IncomingMessage, ServerResponse } from 'node:http';

import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';

/** A request that was answered. */
export interface Answered {
  readonly method: string;
  /** The path with the names of its parameters. */
  readonly route: string;
  readonly status: number;
  /** The span that asked, as the request names it (W3C Trace Context). */
  readonly traceparent: string | undefined;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** Reports the requests to an app. */
export function reportAnswers(report: (answered: Answered) => void): MiddlewareHandler {
  return async (c, next) => {
    const startedAt = new Date().toISOString();
    await next();
    const route = routePath(c, -1).replaceAll(/:(\w+)/gu, '{$1}');
    const { method } = c.req;
    report({ method, route, status: c.res.status, traceparent: c.req.header('traceparent'), startedAt });
  };
}

/** Reports a request that is passed on, once its answer has been passed back. */
export function reportPassage(
  request: IncomingMessage,
  response: ServerResponse,
  report: (answered: Answered) => void,
): void {
  const startedAt = new Date().toISOString();
  const { method = 'GET', headers } = request;
  const traceparent = [headers['traceparent']].flat()[0];
  response.once('close', () => {
    report({
      method,
      route: '/agents/{deployment_id}/*',
      status: response.statusCode,
      traceparent,
      startedAt,
    });
  });
}
