import type { ServerResponse } from 'node:http';

import { RUN_API_ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import type { Endpoint } from '@slipway/contract/endpoint';
import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';

import { METHODS, type RecordTime } from './metrics.ts';

const REQUEST = 'slipway_platform_http_request_duration_seconds';
const OTHER = 'other';

/** Measures the requests that the app answers, by the pattern of their route. */
export function measureRequests(record: RecordTime): MiddlewareHandler {
  return async (c, next) => {
    const began = performance.now();
    await next();
    const route = routePath(c, -1);
    record(REQUEST, (performance.now() - began) / 1_000, {
      method: c.req.method,
      // Where no route answers, the last pattern is that of a middleware.
      route: route.endsWith('*') ? OTHER : route.replaceAll(/:(\w+)/gu, '{$1}'),
      status: String(c.res.status),
    });
  };
}

/** Measures a request to an agent until its answer has ended. @param path - as the agent gets it. */
export function measureAgentRequest(
  record: RecordTime,
  { method = 'GET', path }: { readonly method?: string; readonly path: string },
  response: ServerResponse,
): void {
  const began = performance.now();
  const route = agentRoute(method, path.split('?')[0] ?? path);
  response.once('close', () => {
    // The client left before anything was answered: as nginx has it.
    const status = response.headersSent ? String(response.statusCode) : '499';
    record(REQUEST, (performance.now() - began) / 1_000, { method, route, status });
  });
}

const ROUTES = Object.values<Endpoint>(RUN_API_ENDPOINTS)
  .filter(({ service }) => service === 'runApi')
  // What has fewer parameters is meant first: `/threads/search` is no thread.
  .sort((one, other) => one.path.split('{').length - other.path.split('{').length)
  .map(({ method, path }) => ({
    method,
    route: `/agents/{deployment_id}${path}`,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/gu, '[^/]+')}$`, 'u'),
  }));

/** The template of an agent's path; `other`: the Run API has none like it. */
export function agentRoute(method: string, path: string): string {
  const asked = method === 'HEAD' ? 'GET' : method;
  if (!METHODS.some((known) => known === method)) return OTHER;
  return ROUTES.find((row) => row.method === asked && row.pattern.test(path))?.route ?? OTHER;
}
