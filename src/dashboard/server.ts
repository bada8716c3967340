import { getRequestListener } from '@hono/node-server';
import { Hono, type MiddlewareHandler } from 'hono';
import { compress } from 'hono/compress';
import { routePath } from 'hono/route';

import type { TemporalConnection } from '../temporal/client/connection.ts';
import { createAccess } from './access/access.ts';
import type { AccessSettings } from './access/accessSettings.ts';
import type { PageEnv } from './access/pageEnv.ts';
import { actionRoutes } from './actions/actionRoutes.tsx';
import { historyRoutes } from './history/historyRoutes.tsx';
import type { HookOfFile } from './hooks/hookRules.ts';
import { listen, type Listening } from './listen.ts';
import { LiveRooms } from './live/liveRooms.ts';
import { TargetWatches } from './live/targetWatches.ts';
import type { RecordOnPage } from './metrics/pageMetrics.ts';
import { renderPages } from './page/layout.tsx';
import type { PageContext } from './pageContext.ts';
import { loadPageFiles } from './pageFiles.ts';
import { problemPage, unknownPage } from './problem/problemPages.tsx';
import { promotionRoutes } from './promotions/promotionRoutes.tsx';
import { releaseRoutes } from './releases/releaseRoutes.tsx';
import { targetRoutes } from './targets/targetRoutes.tsx';

/** The options of a dashboard. */
export interface DashboardOptions {
  readonly temporal: TemporalConnection;
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly host: string;
  /** 0: a free port. */
  readonly port: number;
  readonly access: AccessSettings;
  /** Where metrics are served, on a separate listener. Default: they are not. */
  readonly metrics?: { readonly host: string; readonly port: number };
  /** Hooks whose listener is served at the same address, to everyone. Default: none. */
  readonly hooks?: { readonly routes: Hono; readonly ofFile: readonly HookOfFile[] };
  /** The folder of the files for browsers. Default: the build's output folder. */
  readonly filesFolder?: string;
}

/** A running dashboard. */
export interface Dashboard {
  /** `http://host:port`, without a trailing slash. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts the page. It keeps no state, so any number of dashboards may run in parallel.
 * @throws SlipwayError SLIPWAY_PORT_UNAVAILABLE.
 */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { host, port, filesFolder, metrics: place, hooks, ...context } = options;
  const files = await loadPageFiles(filesFolder);
  const rooms = new LiveRooms(files.version);
  const watches = new TargetWatches(context);
  const listeners: Listening[] = [];
  const close = async (): Promise<void> => {
    watches.close();
    await Promise.all(listeners.map((listener) => listener.close()));
  };
  try {
    let record: RecordOnPage | undefined;
    if (place !== undefined) {
      // Loaded only if metrics are served.
      const { openPageMetrics } = await import('./metrics/openPageMetrics.ts');
      const metrics = openPageMetrics(rooms);
      record = metrics.record;
      listeners.push(await listen(metrics.listener, { ...place, option: '--metrics' }));
    }
    const hooksOfFile = hooks?.ofFile ?? [];
    const app = createApp({ ...context, files, watches, rooms, record, hooksOfFile, hooks: hooks?.routes });
    // A health check by HTTP/1.0 has no Host.
    const answer = getRequestListener(app.fetch, { hostname: 'localhost' });
    const page = await listen((request, response) => void answer(request, response), {
      host,
      port,
      option: '--port; --port 0 takes a free one',
    });
    listeners.push(page);
    // If Temporal does not answer, the first page shows it.
    void watches.warm().catch(() => undefined);
    return { url: page.url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface AppOptions extends PageContext {
  readonly access: AccessSettings;
  /** Other routes that are open to everyone: they verify signatures themselves. Absent: none. */
  readonly hooks?: Hono;
}

/** The dashboard's request handler. Files and the sign-in are open to everyone, all else to viewers only. */
function createApp({ access: settings, hooks, ...context }: AppOptions): Hono<PageEnv> {
  const app = new Hono<PageEnv>();
  if (context.record !== undefined) app.use(measureRequests(context.record));
  app.use(protectiveHeaders, renderPages(context.files));
  app.onError(problemPage);
  app.notFound(unknownPage);
  app.get('/health', (c) => c.json({ status: 'ok' }));
  app.route('/', context.files.routes);
  if (hooks !== undefined) app.route('/', hooks);
  // The size of a compressed page can reveal the session's CSRF token if an attacker controls some of the page's text.
  // The token alone is useless to another site, because the origin of each form is checked too (`crossSite.ts`).
  app.use(compress());
  const { routes, requireViewer } = createAccess(settings);
  app.route('/', routes);
  app.use(requireViewer);
  app.route('/', targetRoutes(context));
  app.route('/', releaseRoutes(context));
  app.route('/', promotionRoutes(context));
  app.route('/', historyRoutes(context));
  app.route('/', actionRoutes(context));
  return app;
}

/** Measures each request by its route's template. The page's files and requests without a route are `other`. */
function measureRequests(record: RecordOnPage): MiddlewareHandler {
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

/** Allows only the page's own files: no inline style or script, no other host, no frame around the page. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of every response. Pages are not cached unless a handler allows it: they show targets' data. */
export const protectiveHeaders: MiddlewareHandler = async (c, next) => {
  await next();
  c.header('Content-Security-Policy', POLICY);
  c.header('X-Content-Type-Options', 'nosniff');
  // With `no-referrer`, browsers would hide the origin of the page's own forms.
  c.header('Referrer-Policy', 'same-origin');
  c.header('Cross-Origin-Opener-Policy', 'same-origin');
  c.header('Cross-Origin-Resource-Policy', 'same-origin');
  if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store');
};
