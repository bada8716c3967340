import type { Endpoint } from '../../endpoint.ts';
import {
  ItemDelete,
  ItemOrNull,
  ItemPut,
  ItemQuery,
  ItemSearch,
  ItemsFound,
  Namespaces,
  NamespaceSearch,
} from '../store.ts';
import { RELATIVE } from './origin.ts';

/** The long-term store, which the contract does not have: what the public client offers for it. */
export const STORE_ENDPOINTS = {
  putItem: {
    service: 'runApi',
    method: 'PUT',
    path: '/store/items',
    request: ItemPut,
    response: null,
    success: 204,
    errors: [422],
    section: RELATIVE,
  },
  getItem: {
    service: 'runApi',
    method: 'GET',
    path: '/store/items',
    query: ItemQuery,
    response: ItemOrNull,
    success: 200,
    errors: [422],
    section: RELATIVE,
  },
  deleteItem: {
    service: 'runApi',
    method: 'DELETE',
    path: '/store/items',
    request: ItemDelete,
    response: null,
    success: 204,
    errors: [422],
    section: RELATIVE,
  },
  searchItems: {
    service: 'runApi',
    method: 'POST',
    path: '/store/items/search',
    request: ItemSearch,
    response: ItemsFound,
    success: 200,
    errors: [422],
    section: RELATIVE,
  },
  listNamespaces: {
    service: 'runApi',
    method: 'POST',
    path: '/store/namespaces',
    request: NamespaceSearch,
    response: Namespaces,
    success: 200,
    errors: [422],
    section: RELATIVE,
  },
} as const satisfies Record<string, Endpoint>;
