import { Hono } from 'hono';

import type { Access, PageEnv } from './access/access.ts';
import { protectiveHeaders } from './headers.ts';
import { requireLoopbackName } from './loopback.ts';
import type { PageContext } from './pageContext.ts';
import { problemPage, unknownPage } from './problem/problemPages.tsx';
import { targetRoutes } from './targets/targetRoutes.tsx';

/** What the dashboard is made of. */
interface AppOptions extends PageContext {
  readonly access: Access;
  /** Whether requests under another name than one of the loopback are refused. */
  readonly loopbackOnly: boolean;
}

/** The dashboard as a handler of requests: its files and sign-in for everyone, the rest for viewers. */
export function createApp({ access, loopbackOnly, ...context }: AppOptions): Hono<PageEnv> {
  const app = new Hono<PageEnv>();
  app.use(protectiveHeaders);
  if (loopbackOnly) app.use(requireLoopbackName);
  app.onError(problemPage(context));
  app.notFound(unknownPage(context));
  app.get('/health', (c) => c.json({ status: 'ok' }));
  app.route('/', context.files.routes);
  if (access.routes !== undefined) app.route('/', access.routes);
  app.use(access.requireViewer);
  app.route('/', targetRoutes(context));
  return app;
}
