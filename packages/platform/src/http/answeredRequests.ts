import type { IncomingMessage, ServerResponse } from 'node:http';

import { TRACEPARENT, traceIdOf } from '@slipway/contract/traceparent';
import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import type { Logger } from 'pino';

export interface AnsweredRequest {
  readonly method: string;
  /** The path with its parameter names; for a request to an agent, `/agents/{deployment_id}/*`. */
  readonly route: string;
  /** For a request to an agent: the agent's path, without the query. */
  readonly agentPath?: string;
  /** 499, as in nginx: the client disconnected before the answer. */
  readonly status: number;
  /** The deployment and revision in its path. */
  readonly deployment: string | undefined;
  readonly revision: string | undefined;
  /** The caller's span (W3C Trace Context). `undefined`: no trace. */
  readonly traceparent: string | undefined;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Until the end of the answer. */
  readonly seconds: number;
}

/** Middleware that reports an app's requests. */
export function reportAnswers(report: (answered: AnsweredRequest) => void): MiddlewareHandler {
  return async (c, next) => {
    const times = startTimer();
    await next();
    report({
      method: c.req.method,
      route: routePath(c, -1).replaceAll(/:(\w+)/gu, '{$1}'),
      status: c.res.status,
      ...pathIds(c.req.path),
      traceparent: validTrace(c.req.header('traceparent')),
      ...times(),
    });
  };
}

/** Reports a request to an agent after its answer was sent. */
export function reportAgentRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { deploymentId: deployment, path }: { readonly deploymentId: string; readonly path: string },
  report: (answered: AnsweredRequest) => void,
): void {
  const times = startTimer();
  const { method = 'GET', headers } = request;
  const traceparent = validTrace([headers['traceparent']].flat()[0]);
  const route = '/agents/{deployment_id}/*';
  const agentPath = path.split('?')[0] ?? path;
  response.once('close', () => {
    const status = response.headersSent ? response.statusCode : 499;
    report({ method, route, agentPath, status, deployment, revision: undefined, traceparent, ...times() });
  });
}

function startTimer(): () => Pick<AnsweredRequest, 'startedAt' | 'seconds'> {
  const startedAt = new Date().toISOString();
  const began = performance.now();
  return () => ({ startedAt, seconds: (performance.now() - began) / 1_000 });
}

/** Logs changes that belong to a trace, so that they can be found by the trace id. */
export function logTracedChange(
  log: Logger,
  { startedAt: _, seconds: __, traceparent, ...answered }: AnsweredRequest,
): void {
  if (traceparent === undefined || answered.method === 'GET' || answered.method === 'HEAD') return;
  log.info({ ...answered, trace_id: traceIdOf(traceparent) }, 'answered a request');
}

/** A valid `traceparent` header of version 00, or undefined. */
export function validTrace(header: string | undefined): string | undefined {
  return header !== undefined && TRACEPARENT.test(header) ? header : undefined;
}

const IDS = /\/deployments\/(?<deployment>[0-9a-f-]{36})(?:\/revisions\/(?<revision>[0-9a-f-]{36}))?/u;

function pathIds(path: string): Pick<AnsweredRequest, 'deployment' | 'revision'> {
  const { deployment, revision } = IDS.exec(path)?.groups ?? {};
  return { deployment, revision };
}
