import { Hono } from 'hono';

import { ListenerCreate, ListenerPatch, ListenerPath } from '@slipway/contract/controlPlane/listener';
import { PageQuery } from '@slipway/contract/pageQuery';
import { callerOf } from '../../access/caller.ts';
import { parseBody, parsePath, parseQuery } from '../../http/parse.ts';
import type { Listeners } from '../listeners.ts';
import { vocabularyOf } from './vocabularyEdge.ts';

/** Listeners: create, list, get, patch, delete. */
export function listenerRoutes(listeners: Listeners): Hono {
  const app = new Hono();
  app.post('/v2/listeners', async (c) => {
    const request = await parseBody(ListenerCreate, c);
    return c.json(await listeners.create(callerOf(c), request, vocabularyOf(c)), 201);
  });
  app.get('/v2/listeners', async (c) => c.json(await listeners.list(callerOf(c), parseQuery(PageQuery, c))));
  app.get('/v2/listeners/:listener_id', async (c) =>
    c.json(await listeners.get(callerOf(c), parsePath(ListenerPath, c).listener_id)),
  );
  app.patch('/v2/listeners/:listener_id', async (c) => {
    const { listener_id: id } = parsePath(ListenerPath, c);
    return c.json(await listeners.patch(callerOf(c), id, await parseBody(ListenerPatch, c)));
  });
  app.delete('/v2/listeners/:listener_id', async (c) => {
    await listeners.delete(callerOf(c), parsePath(ListenerPath, c).listener_id);
    return c.body(null, 204);
  });
  return app;
}
