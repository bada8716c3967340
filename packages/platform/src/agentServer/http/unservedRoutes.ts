import { Hono } from 'hono';

import { HttpProblem } from '../../http/problem.ts';

/** What the public client can ask for and this server does not do, with what to do instead. All are decisions. */
const UNSERVED: readonly { readonly path: RegExp; readonly instead: string }[] = [
  {
    path: /^(?:\/threads\/[^/]+)?\/runs\/crons(?:\/|$)/u,
    instead: 'Cron jobs are not served: let a scheduler of yours create runs.',
  },
  {
    path: /^\/threads\/[^/]+\/(?:commands|stream\/events)$/u,
    instead:
      'The thread-centric protocol (v2) is not served: use runs, which the public client does by default.',
  },
  {
    path: /^\/ui\//u,
    instead: 'User interface components are not served.',
  },
];

/** Answers 404 with a sentence that says what is not served, where a bare "Not Found" would look like a mistake. */
export function unservedRoutes(): Hono {
  const app = new Hono();
  app.all('*', (c, next) => {
    const unserved = UNSERVED.find(({ path }) => path.test(c.req.path));
    if (unserved === undefined) return next();
    throw new HttpProblem(404, unserved.instead);
  });
  return app;
}
