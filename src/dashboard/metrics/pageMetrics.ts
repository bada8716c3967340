import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';

import { INTERVENTION_KINDS } from '../../domain/intervention/intervention.ts';
import type { Metric } from '../../domain/metrics/metrics.ts';
import { TARGET_ACTIONS } from '../actions/actionAddresses.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'OPTIONS'] as const;
/** How a request for an action ended. `refused`: by the target or the release, or because the form was invalid. */
const ACTION_OUTCOMES = ['done', 'refused', 'failed'] as const;
const ACTIONS = [...TARGET_ACTIONS, ...INTERVENTION_KINDS] as const;
/** Routes come from the page's own routing table, statuses from HTTP. */
const ROUTES_MAX = 80;
const STATUSES_MAX = 60;
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Every metric of the dashboard. Labels never contain an id, an address, a person or a text from elsewhere. */
export const PAGE_METRICS = {
  slipway_dashboard_open_pages: {
    kind: 'gauge',
    help: 'Open pages that receive changes, each over a separate connection.',
    labels: {},
  },
  slipway_dashboard_rooms: {
    kind: 'gauge',
    help: 'Groups of open pages that show the same to the same person: each change is rendered once for a group.',
    labels: {},
  },
  slipway_dashboard_http_request_duration_seconds: {
    kind: 'histogram',
    help: 'Time that a request took, until its answer began.',
    labels: { method: METHODS, route: ROUTES_MAX, status: STATUSES_MAX },
    buckets: REQUEST_SECONDS,
  },
  slipway_dashboard_actions: {
    kind: 'counter',
    help: 'Actions that people sent from the page.',
    labels: { action: ACTIONS, outcome: ACTION_OUTCOMES },
  },
} as const satisfies Record<string, Metric>;

type PageMetrics = typeof PAGE_METRICS;

export type PageAction = (typeof ACTIONS)[number];
export type ActionOutcome = (typeof ACTION_OUTCOMES)[number];

type RecordedName = {
  [Name in keyof PageMetrics]: PageMetrics[Name]['kind'] extends 'gauge' ? never : Name;
}[keyof PageMetrics];

export type RecordOnPage = <Name extends RecordedName>(
  name: Name,
  value: number,
  labels: { readonly [Label in keyof PageMetrics[Name]['labels']]: string },
) => void;

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
