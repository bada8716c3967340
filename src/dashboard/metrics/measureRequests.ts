import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';

import type { RecordOnPage } from './pageMetrics.ts';

/** Measures each request by its route's template. The page's files and requests without a route are `other`. */
export function measureRequests(record: RecordOnPage): MiddlewareHandler {
  return async (c, next) => {
    const began = performance.now();
    await next();
    record('slipway_dashboard_http_request_duration_seconds', (performance.now() - began) / 1_000, {
      method: c.req.method,
      route: routeOf(routePath(c, -1)),
      status: String(c.res.status),
    });
  };
}

/** If no route answers, the last pattern is a middleware's. A file's name changes with its content. */
function routeOf(pattern: string): string {
  if (pattern.endsWith('*') || pattern.startsWith('/files/')) return 'other';
  return pattern.replaceAll(/:(\w+)/gu, '{$1}');
}
