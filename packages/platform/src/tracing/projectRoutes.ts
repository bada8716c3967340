import { TRACING_ENDPOINTS } from '@slipway/contract/runApi/feedback';
import { type Context, Hono, type MiddlewareHandler } from 'hono';

import { serveOn } from '../http/serve.ts';
import type { TracingStore } from './tracingStore.ts';

/** The tracing projects of a tenant and their feedback (public API), with which guards of releases read scores. */
export function projectRoutes(options: {
  tracing: TracingStore;
  guard: MiddlewareHandler;
  tenantOf: (c: Context) => string;
}): Hono {
  const { tracing, guard, tenantOf } = options;
  const app = new Hono();
  const serve = serveOn(app);
  const { listTracingProjects, listFeedback } = TRACING_ENDPOINTS;
  app.get(listTracingProjects.path, guard).get(listFeedback.path, guard);
  serve(listTracingProjects, ({ query }, c) => tracing.projectsOf(tenantOf(c), query));
  serve(listFeedback, ({ query }, c) => tracing.listFeedback(tenantOf(c), query));
  return app;
}
