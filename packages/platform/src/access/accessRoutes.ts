import { Hono } from 'hono';

import { ApiKeyCreate, ApiKeyPath, ApiKeysQuery, AuditQuery } from '@slipway/contract/controlPlane/access';
import { parseBody, parsePath, parseQuery } from '../http/parse.ts';
import type { Access } from './access.ts';
import { readAudit } from './audit.ts';
import { callerOf } from './caller.ts';

/** API keys: make, list, revoke; and what was recorded of changes. */
export function accessRoutes({ keys, kysely }: Access): Hono {
  const app = new Hono();
  app.post('/v1/api-keys', async (c) =>
    c.json(await keys.create(callerOf(c), await parseBody(ApiKeyCreate, c)), 201),
  );
  app.get('/v1/api-keys', async (c) => c.json(await keys.list(callerOf(c), parseQuery(ApiKeysQuery, c))));
  app.delete('/v1/api-keys/:key_id', async (c) => {
    await keys.revoke(callerOf(c), parsePath(ApiKeyPath, c).key_id);
    return c.body(null, 204);
  });
  app.get('/v1/audit', async (c) => c.json(await readAudit(kysely, callerOf(c), parseQuery(AuditQuery, c))));
  return app;
}
