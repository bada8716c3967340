import { Hono, type MiddlewareHandler } from 'hono';
import { compress } from 'hono/compress';

import { createAccess } from './access/access.ts';
import type { AccessSettings } from './access/accessSettings.ts';
import type { PageEnv } from './access/session.ts';
import { actionRoutes } from './actions/actionRoutes.tsx';
import { historyRoutes } from './history/historyPage.tsx';
import { measureRequests } from './metrics/pageMetrics.ts';
import { renderPages } from './page/layout.tsx';
import type { PageContext } from './pageContext.ts';
import { problemPage, unknownPage } from './problem/problemPages.tsx';
import { promotionRoutes } from './promotions/promotionRoutes.tsx';
import { releaseRoutes } from './releases/releaseRoutes.tsx';
import { requireAnswers } from './requireAnswers.ts';
import { targetRoutes } from './targets/targetRoutes.tsx';

interface AppOptions extends PageContext {
  readonly access: AccessSettings;
  /** Other routes that are open to everyone: they verify signatures themselves. Absent: none. */
  readonly hooks?: Hono;
}

/** The dashboard's request handler. Files and the sign-in are open to everyone, all else to viewers only. */
export function createApp({ access: settings, hooks, ...context }: AppOptions): Hono<PageEnv> {
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
