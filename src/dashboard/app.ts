import { Hono } from 'hono';
import { compress } from 'hono/compress';

import { createAccess } from './access/access.ts';
import type { AccessSettings } from './access/accessSettings.ts';
import type { PageEnv } from './access/session.ts';
import { protectiveHeaders } from './headers.ts';
import { actionRoutes } from './actions/actionRoutes.tsx';
import { historyRoutes } from './history/historyRoutes.tsx';
import { measureRequests } from './metrics/pageMetrics.ts';
import { renderPages } from './page/layout.tsx';
import type { PageContext } from './pageContext.ts';
import { problemPage, unknownPage } from './problem/problemPages.tsx';
import { promotionRoutes } from './promotions/promotionRoutes.tsx';
import { releaseRoutes } from './releases/releaseRoutes.tsx';
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
  app.use(requireViewer);
  app.route('/', targetRoutes(context));
  app.route('/', releaseRoutes(context));
  app.route('/', promotionRoutes(context));
  app.route('/', historyRoutes(context));
  app.route('/', actionRoutes(context));
  return app;
}
