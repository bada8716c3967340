import { Hono } from 'hono';

/** Integrations with repository hosts. Decision: there are none on a platform of one machine; the list is empty. */
export function integrationRoutes(): Hono {
  const app = new Hono();
  app.get('/v1/integrations/github/install', (c) => c.json([]));
  return app;
}
