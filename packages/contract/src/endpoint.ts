import type { z } from 'zod';

/** One endpoint of a contract. Schemas of path and query take text, as they come; a missing one means there is none. */
export interface Endpoint {
  readonly service: 'controlPlane' | 'runApi' | 'tracing';
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to the service's base URL, with `{name}` for each path parameter. */
  readonly path: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** The headers that mean something to it, by their names in lower case, beside the key and the tenant. */
  readonly headers?: z.ZodObject;
  /** The JSON body. */
  readonly request?: z.ZodType;
  /** The JSON answer; `stream` for server-sent events; `null` for an answer without content. */
  readonly response: z.ZodType | 'stream' | null;
  /** Set where the query may ask for a stream of server-sent events instead of that answer. */
  readonly streams?: true;
  /** The status that we answer with. Clients take any 2xx. */
  readonly success: 200 | 201 | 202 | 204;
  /** The status that the same answer has where only some of what was asked for could be done. */
  readonly partial?: 207;
  /** The error statuses that belong to this endpoint, beside 401 and 403 for the key and 429 and 5xx anywhere. */
  readonly errors: readonly number[];
  /** Where it comes from: the contract and its section, or the public relative that fills its gap. */
  readonly section: string;
}

/** Where an endpoint comes from: the contract's own table. */
export const CONTRACT = 'contract 001, Endpoints';

/** Where an endpoint comes from: the contract's public relatives, whose client works here unchanged. */
export const RELATIVE = 'facts, The Run API in the wild';

/** A table of endpoints that have some fields in common: the service, and often where they come from. */
export function withCommon<
  const Common extends Partial<Endpoint>,
  const Table extends Record<string, Omit<Endpoint, keyof Common>>,
>(common: Common, table: Table): { readonly [Name in keyof Table]: Common & Table[Name] } {
  const entries = Object.entries(table).map(([name, endpoint]) => [name, { ...common, ...endpoint }]);
  return Object.fromEntries(entries) as { readonly [Name in keyof Table]: Common & Table[Name] };
}
