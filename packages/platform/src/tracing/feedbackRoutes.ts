import { FEEDBACK_ENDPOINTS, FeedbackQuery, FeedbackSubmission } from '@slipway/contract/runApi/feedback';
import { Uuid } from '@slipway/contract/scalars';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { z } from 'zod';

import { limitBody, parseOptionalBody, parsePath, parseQuery } from '../http/parse.ts';
import { HttpProblem, refuseHead } from '../http/problem.ts';
import type { FeedbackOutcome, FeedbackReader, TracingStore } from './tracingStore.ts';

const RunOfPath = z.object({ run_id: Uuid });

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
  const links = '/api/v1/feedback/tokens/:token_id';
  app.use(links, cors({ origin: '*', allowMethods: ['GET', 'POST'] }));
  app.post(links, limitBody(), async (c) => {
    const { token_id: token } = parsePath(FEEDBACK_ENDPOINTS.submitFeedback.params, c);
    const submission = await parseOptionalBody(FeedbackSubmission, c);
    return answer(c, await tracing.record(token, submission));
  });
  app.get(links, async (c) => {
    // A scanner of links must not replace feedback.
    refuseHead(c);
    const { token_id: token } = parsePath(FEEDBACK_ENDPOINTS.submitFeedback.params, c);
    const { metadata: _refused, ...submission } = parseQuery(FeedbackQuery, c);
    return answer(c, await tracing.record(token, submission));
  });
  const readBack = '/api/v1/runs/:run_id/feedback';
  if (guard !== undefined) app.use(readBack, guard);
  app.get(readBack, async (c) =>
    c.json(await tracing.feedbackOf(parsePath(RunOfPath, c).run_id, readerOf(c))),
  );
  return app;
}

function answer(c: Context, outcome: FeedbackOutcome): Response {
  switch (outcome.kind) {
    case 'recorded':
      return c.json({ recorded: true, key: outcome.key });
    case 'unknown':
      throw new HttpProblem(404, 'This feedback link is not known.');
    case 'expired':
      throw new HttpProblem(410, 'This feedback link has expired.');
  }
}
