import { Hono } from 'hono';

import { ItemDelete, ItemPut, ItemQuery, ItemSearch, NamespaceSearch } from '@slipway/contract/runApi/store';
import { parseBody, parseOptionalBody, parseQuery } from '../../http/parse.ts';
import type { ItemStore, StoredItem } from '../store/itemStore.ts';

/** The public client's routes for the long-term store. */
export function storeRoutes(items: ItemStore): Hono {
  const app = new Hono();

  app.put('/store/items', async (c) => {
    const { namespace, key, value, ttl } = await parseBody(ItemPut, c);
    await items.change([{ namespace, key, value, ttlMinutes: ttl }]);
    return c.body(null, 204);
  });

  app.get('/store/items', async (c) => {
    const { refresh_ttl: refreshTtl, ...address } = parseQuery(ItemQuery, c);
    const item = await items.get(address, refreshTtl);
    return c.json(item === undefined ? null : wireItem(item));
  });

  app.delete('/store/items', async (c) => {
    const { namespace, key } = await parseBody(ItemDelete, c);
    await items.change([{ namespace, key, value: null }]);
    return c.body(null, 204);
  });

  app.post('/store/items/search', async (c) => {
    const body = await parseOptionalBody(ItemSearch, c);
    const found = await items.search({
      prefix: body.namespace_prefix ?? [],
      filter: body.filter ?? {},
      limit: body.limit,
      offset: body.offset,
      refreshTtl: body.refresh_ttl ?? true,
    });
    return c.json({ items: found.map(wireItem) });
  });

  app.post('/store/namespaces', async (c) => {
    const body = await parseOptionalBody(NamespaceSearch, c);
    const namespaces = await items.namespaces({
      conditions: [
        { matchType: 'prefix', labels: body.prefix ?? [] },
        { matchType: 'suffix', labels: body.suffix ?? [] },
      ],
      maxDepth: body.max_depth ?? undefined,
      limit: body.limit,
      offset: body.offset,
    });
    return c.json({ namespaces });
  });

  return app;
}

function wireItem({ namespace, key, value, created_at, updated_at }: StoredItem) {
  return {
    namespace,
    key,
    value,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}
