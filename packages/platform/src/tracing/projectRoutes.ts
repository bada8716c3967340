import { FeedbackListQuery, TracingProjectsQuery } from '@slipway/contract/runApi/feedback';
import { type Context, Hono, type MiddlewareHandler } from 'hono';

import { parseQuery } from '../http/parse.ts';
import type { TracingStore } from './tracingStore.ts';

/** The tracing projects of a tenant and their feedback (public API), with which guards of releases read scores. */
export function projectRoutes(options: {
  tracing: TracingStore;
  guard: MiddlewareHandler;
  tenantOf: (c: Context) => string;
}): Hono {
  const { tracing, guard, tenantOf } = options;
  const app = new Hono();
  app.get('/api/v1/sessions', guard, async (c) =>
    c.json(await tracing.projectsOf(tenantOf(c), parseQuery(TracingProjectsQuery, c))),
  );
  app.get('/api/v1/feedback', guard, async (c) =>
    c.json(await tracing.listFeedback(tenantOf(c), parseQuery(FeedbackListQuery, c))),
  );
  return app;
}
