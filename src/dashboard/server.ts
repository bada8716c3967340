import { Hono, type MiddlewareHandler } from 'hono';
import { compress } from 'hono/compress';

import { callTemporal, type TemporalConnection } from '../temporal/client/connection.ts';
import type { ListeningHook } from '../temporal/client/hooks/hookClient.ts';
import { createAccess } from './access/access.ts';
import type { AccessSettings } from './access/accessSettings.ts';
import type { PageEnv } from './access/session.ts';
import { actionRoutes } from './actions/actionRoutes.tsx';
import { historyRoutes } from './history/historyPage.tsx';
import { listen, type Listening, serve } from './listen.ts';
import { LiveRooms } from './live/liveRooms.ts';
import type { ReadContext } from './live/targetWatch.ts';
import { TargetWatches } from './live/targetWatches.ts';
import { measureRequests, type RecordOnPage } from './metrics/pageMetrics.ts';
import { problemPage, renderPages, unknownPage } from './page/layout.tsx';
import type { PageContext } from './pageContext.ts';
import { loadPageFiles } from './pageFiles.ts';
import { promotionRoutes } from './promotions/promotionRoutes.tsx';
import { releaseRoutes } from './releases/releaseRoutes.tsx';
import { targetRoutes } from './targets/targetRoutes.tsx';

export interface DashboardOptions extends ReadContext {
  readonly host: string;
  /** 0: a free port. */
  readonly port: number;
  readonly access: AccessSettings;
  /** Where metrics are served, on a separate listener. Default: they are not. */
  readonly metrics?: { readonly host: string; readonly port: number };
  /** Hooks whose listener is served at the same address, to everyone. Default: none. */
  readonly hooks?: { readonly routes: Hono; readonly ofFile: readonly ListeningHook[] };
  /** The folder of the files for browsers. Default: the build's output folder. */
  readonly filesFolder?: string;
}

/** Starts the page. It keeps no state, so any number of dashboards may run in parallel. */
export async function startDashboard(options: DashboardOptions): Promise<Listening> {
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
    const page = await serve(app, host, port);
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
  // The token alone is useless to another site, because the origin of each form is checked too (`session.ts`).
  app.use(compress());
  const { routes, requireViewer } = createAccess(settings);
  app.route('/', routes);
  app.use(requireViewer, requireAnswers(context.temporal));
  app.route('/', targetRoutes(context));
  app.route('/', releaseRoutes(context));
  app.route('/', promotionRoutes(context));
  app.route('/', historyRoutes(context));
  app.route('/', actionRoutes(context));
  return app;
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

/** How long a page is read before the dashboard asks whether Temporal answers at all, in milliseconds. */
const SLOW_MS = 3_000;
const ANSWERS_WITHIN_MS = 2_000;

/**
 * Ends the wait for a page if Temporal does not answer. Its parts may wait for longer: they also read on a busy Temporal.
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export function requireAnswers(temporal: TemporalConnection): MiddlewareHandler {
  return async (c, next) => {
    // A form's message has its own deadlines, and says whether it may still arrive.
    if (c.req.method !== 'GET') return next();
    let timer: NodeJS.Timeout | undefined;
    const isSlow = new Promise<void>((resolve) => (timer = setTimeout(resolve, SLOW_MS)));
    const page = next().finally(() => clearTimeout(timer));
    const ask = () => temporal.client.connection.workflowService.getSystemInfo({});
    const answers = isSlow.then(() => callTemporal(temporal, ask, ANSWERS_WITHIN_MS));
    await Promise.race([page, answers.then(() => page)]);
  };
}
