import { pick } from '@slipway/contract/pick';
import { RUN_API_ENDPOINTS as ENDPOINTS } from '@slipway/contract/runApi/endpoints';

import type { Serve } from '../../http/serve.ts';
import type { ItemStore, StoredItem } from '../store/itemStore.ts';

/** The public client's routes for the long-term store. */
export function serveItems(serve: Serve, items: ItemStore): void {
  serve(ENDPOINTS.putItem, ({ body: { index: _, ...item } }) => items.change([item]));
  serve(ENDPOINTS.getItem, async ({ query: { refresh_ttl: refreshTtl, ...address } }) => {
    const item = await items.get(address, refreshTtl);
    return item === undefined ? null : wireItem(item);
  });
  serve(ENDPOINTS.deleteItem, ({ body }) => items.change([{ ...body, value: null }]));
  serve(ENDPOINTS.searchItems, async ({ body }) => ({ items: (await items.search(body)).map(wireItem) }));
  serve(ENDPOINTS.listNamespaces, async ({ body }) => ({
    namespaces: await items.namespaces({
      matchConditions: [
        { matchType: 'prefix', path: body.prefix ?? [] },
        { matchType: 'suffix', path: body.suffix ?? [] },
      ],
      maxDepth: body.max_depth ?? undefined,
      limit: body.limit,
      offset: body.offset,
    }),
  }));
}

function wireItem(item: StoredItem) {
  return pick(item, 'namespace', 'key', 'value', 'created_at', 'updated_at');
}
