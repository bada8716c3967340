import { RUN_API_ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import type { Endpoint } from '@slipway/contract/endpoint';

import type { Answered } from '../http/answered.ts';
import { METHODS, type RecordTime } from './metrics.ts';

const REQUEST = 'slipway_platform_http_request_duration_seconds';
const OTHER = 'other';

/** Measures a request that was answered, by the template of its route. */
export function measureAnswer(
  record: RecordTime,
  { method, route, agentPath, status, seconds }: Answered,
): void {
  record(REQUEST, seconds, {
    method,
    route: agentPath === undefined ? appRoute(route) : agentRoute(method, agentPath),
    status: String(status),
  });
}

/** If no route answers, the last pattern is that of a middleware. */
function appRoute(route: string): string {
  return route.endsWith('*') ? OTHER : route;
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
