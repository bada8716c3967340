import {
  FEEDBACK_ENDPOINTS,
  type FeedbackSubmission,
  TRACING_ENDPOINTS,
} from '@slipway/contract/runApi/feedback';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';

import { limitBody } from '../http/parse.ts';
import { serveOn } from '../http/serve.ts';
import type { FeedbackReader, TracingStore } from './tracingStore.ts';

/**
 * The routes of the tracing service. `POST` and `GET /api/v1/feedback/tokens/{token_id}` record feedback (contract
 * 001, "Endpoints"); the link is its own credential, and any web page may call it. `GET
 * /api/v1/runs/{run_id}/feedback` returns recorded feedback to callers that `guard` admits.
 *
 * Answers `{"recorded": true, "key": …}`; 404 for an unknown link, 410 for an expired one, 422 `{detail: […]}`.
 * Errors are thrown as `HttpProblem`, which the mounting app turns into answers.
 */
export function feedbackRoutes(options: {
  tracing: TracingStore;
  /** Admits only callers that may read feedback. Default: admits all. */
  guard?: MiddlewareHandler;
  readerOf: (c: Context) => FeedbackReader;
}): Hono {
  const { tracing, guard, readerOf } = options;
  const app = new Hono();
  const serve = serveOn(app);
  const record = async ({ token_id: token }: { token_id: string }, submission: FeedbackSubmission) => ({
    recorded: true,
    key: await tracing.record(token, submission),
  });
  app.use('/api/v1/feedback/tokens/*', cors({ origin: '*', allowMethods: ['GET', 'POST'] }), limitBody());
  serve(FEEDBACK_ENDPOINTS.submitFeedback, ({ params, body }) => record(params, body));
  serve(FEEDBACK_ENDPOINTS.submitFeedbackByQuery, ({ params, query: { metadata: _, ...submission } }) =>
    record(params, submission),
  );
  if (guard !== undefined) app.use('/api/v1/runs/:run_id/feedback', guard);
  serve(TRACING_ENDPOINTS.getFeedback, ({ params }, c) => tracing.feedbackOf(params.run_id, readerOf(c)));
  return app;
}

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
