import type { IncomingMessage, ServerResponse } from 'node:http';

import { TRACEPARENT, traceIdOf } from '@slipway/contract/traceparent';
import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import type { Logger } from 'pino';

/** A request that was answered. */
export interface Answered {
  readonly method: string;
  /** The path with the names of its parameters; of a request to an agent, `/agents/{deployment_id}/*`. */
  readonly route: string;
  /** Of a request to an agent: the path as the agent gets it, without its query. */
  readonly agentPath?: string;
  /** 499: the client left before it was answered, as nginx has it. */
  readonly status: number;
  /** The deployment and the revision that its path names. */
  readonly deployment: string | undefined;
  readonly revision: string | undefined;
  /** The span that asked, as the request names it (W3C Trace Context). `undefined`: it belongs to no trace. */
  readonly traceparent: string | undefined;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Until its answer had ended. */
  readonly seconds: number;
}

/** Reports the requests to an app. */
export function reportAnswers(report: (answered: Answered) => void): MiddlewareHandler {
  return async (c, next) => {
    const times = timed();
    await next();
    report({
      method: c.req.method,
      route: routePath(c, -1).replaceAll(/:(\w+)/gu, '{$1}'),
      status: c.res.status,
      ...idsIn(c.req.path),
      traceparent: validTrace(c.req.header('traceparent')),
      ...times(),
    });
  };
}

/** Reports a request that is passed on to an agent, once its answer has been passed back. */
export function reportPassage(
  request: IncomingMessage,
  response: ServerResponse,
  { deploymentId: deployment, path }: { readonly deploymentId: string; readonly path: string },
  report: (answered: Answered) => void,
): void {
  const times = timed();
  const { method = 'GET', headers } = request;
  const traceparent = validTrace([headers['traceparent']].flat()[0]);
  const route = '/agents/{deployment_id}/*';
  const agentPath = path.split('?')[0] ?? path;
  response.once('close', () => {
    const status = response.headersSent ? response.statusCode : 499;
    report({ method, route, agentPath, status, deployment, revision: undefined, traceparent, ...times() });
  });
}

function timed(): () => Pick<Answered, 'startedAt' | 'seconds'> {
  const startedAt = new Date().toISOString();
  const began = performance.now();
  return () => ({ startedAt, seconds: (performance.now() - began) / 1_000 });
}

/** Logs the changes that belong to a trace, so that its lines are found by its id. */
export function logTracedChange(
  log: Logger,
  { startedAt: _, seconds: __, traceparent, ...answered }: Answered,
): void {
  if (traceparent === undefined || answered.method === 'GET') return;
  log.info({ ...answered, trace_id: traceIdOf(traceparent) }, 'answered a request');
}

/** A `traceparent` header, if it is one of version 00. */
export function validTrace(header: string | undefined): string | undefined {
  return header !== undefined && TRACEPARENT.test(header) ? header : undefined;
}

const IDS = /\/deployments\/(?<deployment>[0-9a-f-]{36})(?:\/revisions\/(?<revision>[0-9a-f-]{36}))?/u;

function idsIn(path: string): Pick<Answered, 'deployment' | 'revision'> {
  const { deployment, revision } = IDS.exec(path)?.groups ?? {};
  return { deployment, revision };
}
