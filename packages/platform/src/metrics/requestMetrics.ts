import { RUN_API_ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import type { Endpoint } from '@slipway/contract/endpoint';

import type { AnsweredRequest } from '../http/answeredRequests.ts';
import { METHODS, type RecordTime } from './metrics.ts';

const REQUEST = 'slipway_platform_http_request_duration_seconds';
const OTHER = 'other';

/** Records an answered request under its route's template. */
export function measureAnswer(
  record: RecordTime,
  { method, route, agentPath, status, seconds }: AnsweredRequest,
): void {
  record(REQUEST, seconds, {
    method,
    route: agentPath === undefined ? appRoute(route) : agentRoute(method, agentPath),
    status: String(status),
  });
}

/** If no route answers, the last pattern is a middleware's. */
function appRoute(route: string): string {
  return route.endsWith('*') ? OTHER : route;
}

const ROUTES = Object.values<Endpoint>(RUN_API_ENDPOINTS)
  .filter(({ service }) => service === 'runApi')
  // Fewer parameters first: `/threads/search` is no thread.
  .sort((one, other) => one.path.split('{').length - other.path.split('{').length)
  .map(({ method, path }) => ({
    method,
    route: `/agents/{deployment_id}${path}`,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/gu, '[^/]+')}$`, 'u'),
  }));

/** The template of an agent's path; `other` if it is no path of the Run API. */
export function agentRoute(method: string, path: string): string {
  const asked = method === 'HEAD' ? 'GET' : method;
  if (!METHODS.some((known) => known === method)) return OTHER;
  return ROUTES.find((row) => row.method === asked && row.pattern.test(path))?.route ?? OTHER;
}
