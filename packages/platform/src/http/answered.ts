import type { IncomingMessage, ServerResponse } from 'node:http';

import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import type { Logger } from 'pino';

/** A request that was answered. */
export interface Answered {
  readonly method: string;
  /** The path with the names of its parameters. */
  readonly route: string;
  readonly status: number;
  /** The deployment and the revision that its path names. */
  readonly deployment: string | undefined;
  readonly revision: string | undefined;
  /** The span that asked, as the request names it (W3C Trace Context). `undefined`: it belongs to no trace. */
  readonly traceparent: string | undefined;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** Reports the requests to an app. */
export function reportAnswers(report: (answered: Answered) => void): MiddlewareHandler {
  return async (c, next) => {
    const startedAt = new Date().toISOString();
    await next();
    report({
      method: c.req.method,
      route: routePath(c, -1).replaceAll(/:(\w+)/gu, '{$1}'),
      status: c.res.status,
      ...idsIn(c.req.path),
      traceparent: validTrace(c.req.header('traceparent')),
      startedAt,
    });
  };
}

/** Reports a request that is passed on to an agent, once its answer has been passed back. */
export function reportPassage(
  request: IncomingMessage,
  response: ServerResponse,
  deployment: string,
  report: (answered: Answered) => void,
): void {
  const startedAt = new Date().toISOString();
  const { method = 'GET', headers } = request;
  const traceparent = validTrace([headers['traceparent']].flat()[0]);
  const route = '/agents/{deployment_id}/*';
  response.once('close', () => {
    const status = response.statusCode;
    report({ method, route, status, deployment, revision: undefined, traceparent, startedAt });
  });
}

/** Logs the changes that belong to a trace, so that its lines are found by its id. */
export function logTracedChange(log: Logger, { startedAt: _, traceparent, ...answered }: Answered): void {
  if (traceparent === undefined || answered.method === 'GET') return;
  log.info({ ...answered, trace_id: traceIdOf(traceparent) }, 'answered a request');
}

/** The id of the trace that a `traceparent` names: 32 hexadecimal digits. */
export function traceIdOf(traceparent: string): string {
  return traceparent.split('-')[1] ?? '';
}

const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/u;

/** A `traceparent` header, if it is one of version 00. */
export function validTrace(header: string | undefined): string | undefined {
  return header !== undefined && TRACEPARENT.test(header) ? header : undefined;
}

const IDS = /\/deployments\/(?<deployment>[0-9a-f-]{36})(?:\/revisions\/(?<revision>[0-9a-f-]{36}))?/u;

function idsIn(path: string): Pick<Answered, 'deployment' | 'revision'> {
  const { deployment, revision } = IDS.exec(path)?.groups ?? {};
  return { deployment, revision };
}
