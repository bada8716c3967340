import { z } from 'zod';

import { ofRelative } from '../endpoint.ts';
import { INTEGER_MAX, ITEM_ADDRESS_MAX_BYTES, LIST_MAX } from '../limits.ts';
import { integer, JsonObject, nonEmptyText, QueryBoolean, StorableObject, Timestamp } from '../scalars.ts';

const TOO_LONG = { error: `Input should have at most ${ITEM_ADDRESS_MAX_BYTES} bytes` };

/** One part of a namespace. A dot separates parts where a namespace is written as one text. */
const Label = nonEmptyText().regex(/^[^.]*$/u, { error: 'Input should not contain "."' });

/** Where an item of the long-term store lies: the outermost label first (public client: `namespace`). */
export const Namespace = z.array(Label).min(1).max(LIST_MAX).refine(fits, TOO_LONG);

/** The beginning of namespaces; an empty one is that of all. */
const NamespacePrefix = z.array(Label).max(LIST_MAX).refine(fits, TOO_LONG);

/** Which item within its namespace. */
export const ItemKey = nonEmptyText().refine((key) => fits([key]), TOO_LONG);

/**
 * `PUT /store/items` of the public client: makes an item or replaces it. `ttl` is in minutes, after which the item is
 * gone; absent or null: it stays. `index` is taken and means nothing: nothing is embedded here.
 */
export const ItemPut = z.object({
  namespace: Namespace,
  key: ItemKey,
  value: StorableObject,
  index: z.union([z.literal(false), z.array(nonEmptyText()).max(LIST_MAX)]).nullish(),
  ttl: z.number().positive().max(INTEGER_MAX).nullish(),
});

/** The query of `GET /store/items`. The namespace is one text, its labels separated by dots. */
export const ItemQuery = z.object({
  namespace: z.preprocess((value) => (typeof value === 'string' ? value.split('.') : value), Namespace),
  key: ItemKey,
  refresh_ttl: QueryBoolean.default(true),
});

/** `DELETE /store/items` of the public client. One that is not there is no error. */
export const ItemDelete = z.object({ namespace: Namespace, key: ItemKey });

/** What a field of an item can be asked for beside a value that it equals. */
export const FILTER_OPERATORS = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', '$nin'] as const;
export type FilterOperator = (typeof FILTER_OPERATORS)[number];

/**
 * What fields of an item's value have to be, by their names: a value that the field equals, or operators, each of which
 * has to hold. Decision: an operator that is none is refused; LangGraph's own stores would find nothing.
 */
export const ItemFilter = StorableObject.refine(hasKnownOperators, {
  error: `Input should have no operators but ${FILTER_OPERATORS.join(', ')}; $in and $nin take lists`,
});

/**
 * `POST /store/items/search` of the public client: newest first. Decision: `query` is taken and ranks nothing, as on the
 * public servers where nothing is embedded.
 */
export const ItemSearch = z.object({
  namespace_prefix: NamespacePrefix.nullish(),
  filter: ItemFilter.nullish(),
  limit: integer(1, 1000).default(10),
  offset: integer(0, INTEGER_MAX).default(0),
  query: z.string().nullish(),
  refresh_ttl: z.boolean().nullish(),
});

/** `POST /store/namespaces` of the public client. `*` in a prefix or suffix stands for any label. */
export const NamespaceSearch = z.object({
  prefix: NamespacePrefix.nullish(),
  suffix: NamespacePrefix.nullish(),
  max_depth: integer(1, LIST_MAX).nullish(),
  limit: integer(1, 1000).default(100),
  offset: integer(0, INTEGER_MAX).default(0),
});

/** An item of the long-term store. */
const Item = z.looseObject({
  namespace: z.array(z.string()),
  key: z.string(),
  value: JsonObject,
  created_at: Timestamp,
  updated_at: Timestamp,
});

/** `GET /store/items` answers null where there is no such item. */
const ItemOrNull = Item.nullable();

/** What a search answers. */
const ItemsFound = z.looseObject({ items: z.array(Item) });

/** What a search for namespaces answers. */
const Namespaces = z.looseObject({ namespaces: z.array(z.array(z.string())) });

/** Namespace and key are an index's row, which has a size; so has each label beside its bytes. */
function fits(labels: readonly string[]): boolean {
  const bytes = labels.reduce((sum, label) => sum + Buffer.byteLength(label) + 8, 0);
  return bytes <= ITEM_ADDRESS_MAX_BYTES;
}

function hasKnownOperators(filter: JsonObject): boolean {
  return Object.values(filter).every((wanted) => {
    if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted)) return true;
    return Object.entries(wanted).every(([name, operand]) => {
      if (!name.startsWith('$')) return true;
      if (name === '$in' || name === '$nin') return Array.isArray(operand);
      return (FILTER_OPERATORS as readonly string[]).includes(name);
    });
  });
}

/** The long-term store, which the contract does not have: what the public client offers for it. */
export const STORE_ENDPOINTS = {
  putItem: ofRelative.put('/store/items', null, { request: ItemPut }),
  getItem: ofRelative.get('/store/items', ItemOrNull, { query: ItemQuery }),
  deleteItem: ofRelative.delete('/store/items', null, { request: ItemDelete }),
  searchItems: ofRelative.post('/store/items/search', ItemsFound, { request: ItemSearch }),
  listNamespaces: ofRelative.post('/store/namespaces', Namespaces, { request: NamespaceSearch }),
} as const;
