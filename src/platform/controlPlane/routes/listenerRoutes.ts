import { Hono } from 'hono';

import { PageQuery } from '../../../contract/pageQuery.ts';
import { parseQuery } from '../../http/parse.ts';

/** Listeners. Decision: there are none on a platform of one machine; the list is empty. */
export function listenerRoutes(): Hono {
  const app = new Hono();
  app.get('/v2/listeners', (c) => c.json({ resources: [], offset: parseQuery(PageQuery, c).offset }));
  return app;
}
