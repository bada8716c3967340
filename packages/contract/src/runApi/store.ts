import { z } from 'zod';

import { publicRunApi } from '../endpoint.ts';
import { isRecord } from '../json.ts';
import { INTEGER_MAX, ITEM_ADDRESS_MAX_BYTES, LIST_MAX } from '../limits.ts';
import { integer, JsonObject, nonEmptyText, QueryBoolean, StorableObject, Timestamp } from '../scalars.ts';

const TOO_LONG = { error: `Input should have at most ${ITEM_ADDRESS_MAX_BYTES} bytes` };

/** One part of a namespace. Without dots, which separate the parts if a namespace is one text. */
const Label = nonEmptyText().regex(/^[^.]*$/u, { error: 'Input should not contain "."' });

/** The namespace of an item of the long-term store: the outermost label first (public client: `namespace`). */
export const Namespace = z.array(Label).min(1).max(LIST_MAX).refine(fits, TOO_LONG);

/** The beginning of namespaces; an empty one matches all. */
const NamespacePrefix = z.array(Label).max(LIST_MAX).refine(fits, TOO_LONG);

/** The key of an item in its namespace. */
export const ItemKey = nonEmptyText().refine((key) => fits([key]), TOO_LONG);

/**
 * The public client's `PUT /store/items`: creates or replaces an item. `ttl`: the item expires after so many minutes;
 * absent or null: never. `index` is accepted without effect, because nothing is embedded here.
 */
const ItemPut = z.object({
  namespace: Namespace,
  key: ItemKey,
  value: StorableObject,
  index: z.union([z.literal(false), z.array(nonEmptyText()).max(LIST_MAX)]).nullish(),
  ttl: z.number().positive().max(INTEGER_MAX).nullish(),
});

/** The query of `GET /store/items`. The namespace is one text, with dots between its labels. */
const ItemQuery = z.object({
  namespace: z.preprocess((value) => (typeof value === 'string' ? value.split('.') : value), Namespace),
  key: ItemKey,
  refresh_ttl: QueryBoolean.default(true),
});

/** The public client's `DELETE /store/items`. A missing item is no error. */
const ItemDelete = z.object({ namespace: Namespace, key: ItemKey });

/** The operators for a field of an item's value. */
export const FILTER_OPERATORS = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', '$nin'] as const;
export type FilterOperator = (typeof FILTER_OPERATORS)[number];

/**
 * Conditions on fields of an item's value, by name: an equal value, or operators, all of which must match. Decision:
 * an unknown operator is refused; LangGraph's own stores would find nothing.
 */
export const ItemFilter = StorableObject.refine(hasKnownOperators, {
  error: `Input should have no operators but ${FILTER_OPERATORS.join(', ')}; $in and $nin take lists`,
});

/** `POST /store/items/search` (public client): newest first. Decision: `query` does not rank, without embeddings. */
const ItemSearch = z.object({
  namespace_prefix: NamespacePrefix.nullish(),
  filter: ItemFilter.nullish(),
  limit: integer(1, 1000).default(10),
  offset: integer(0, INTEGER_MAX).default(0),
  query: z.string().nullish(),
  refresh_ttl: z.boolean().nullish(),
});

/** The public client's `POST /store/namespaces`. `*` in a prefix or suffix matches any label. */
const NamespaceSearch = z.object({
  prefix: NamespacePrefix.nullish(),
  suffix: NamespacePrefix.nullish(),
  max_depth: integer(1, LIST_MAX).nullish(),
  limit: integer(1, 1000).default(100),
  offset: integer(0, INTEGER_MAX).default(0),
});

const Item = z.looseObject({
  namespace: z.array(z.string()),
  key: z.string(),
  value: JsonObject,
  created_at: Timestamp,
  updated_at: Timestamp,
});

/** `GET /store/items` answers null if the item does not exist. */
const ItemOrNull = Item.nullable();

const ItemsFound = z.looseObject({ items: z.array(Item) });

const Namespaces = z.looseObject({ namespaces: z.array(z.array(z.string())) });

/** Namespace and key form one index row of limited size; each label adds overhead to its bytes. */
function fits(labels: readonly string[]): boolean {
  const bytes = labels.reduce((sum, label) => sum + Buffer.byteLength(label) + 8, 0);
  return bytes <= ITEM_ADDRESS_MAX_BYTES;
}

function hasKnownOperators(filter: JsonObject): boolean {
  return Object.values(filter).every((wanted) => {
    if (!isRecord(wanted)) return true;
    return Object.entries(wanted).every(([name, operand]) => {
      if (!name.startsWith('$')) return true;
      if (name === '$in' || name === '$nin') return Array.isArray(operand);
      return (FILTER_OPERATORS as readonly string[]).includes(name);
    });
  });
}

/** The long-term store, which the contract lacks: the public client's endpoints. */
export const STORE_ENDPOINTS = {
  putItem: publicRunApi.put('/store/items', null, { request: ItemPut }),
  getItem: publicRunApi.get('/store/items', ItemOrNull, { query: ItemQuery }),
  deleteItem: publicRunApi.delete('/store/items', null, { request: ItemDelete }),
  searchItems: publicRunApi.post('/store/items/search', ItemsFound, { request: ItemSearch }),
  listNamespaces: publicRunApi.post('/store/namespaces', Namespaces, { request: NamespaceSearch }),
} as const;
