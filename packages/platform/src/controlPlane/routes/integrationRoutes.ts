import { Hono } from 'hono';

import { IntegrationCreate, IntegrationPath } from '@slipway/contract/controlPlane/integration';
import { callerOf } from '../../access/caller.ts';
import { parseBody, parsePath } from '../../http/parse.ts';
import type { Integrations } from '../integrations.ts';
import type { OriginOf } from './origin.ts';

/** Integrations with hosts of git repositories: create, list, delete. */
export function integrationRoutes({
  integrations,
  origin,
}: {
  integrations: Integrations;
  origin: OriginOf;
}): Hono {
  const app = new Hono();
  const path = '/v1/integrations/github/install';
  app.get(path, async (c) => c.json(await integrations.list(callerOf(c), origin(c))));
  app.post(path, async (c) =>
    c.json(await integrations.create(callerOf(c), await parseBody(IntegrationCreate, c), origin(c)), 201),
  );
  app.delete(`${path}/:integration_id`, async (c) => {
    await integrations.delete(callerOf(c), parsePath(IntegrationPath, c).integration_id);
    return c.body(null, 204);
  });
  return app;
}
