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

type Details = Partial<Omit<Endpoint, 'service' | 'method' | 'path' | 'response' | 'section'>>;
type Row<Answer, Own> = Omit<Endpoint, keyof Own | 'response'> &
  Omit<Own, 'errors'> & { readonly response: Answer; readonly errors: readonly number[] };

/**
 * Makes the rows of a table of endpoints that come from one section: a path, its answer, and what differs from the
 * usual. `success` is 200, or 204 without content; `errors` are none, and 422 wherever there is anything to validate.
 */
export function endpointsOf(service: Endpoint['service'], section: string) {
  const row =
    (method: Endpoint['method']) =>
    <Answer extends Endpoint['response'], const Own extends Details = object>(
      path: string,
      response: Answer,
      details?: Own,
    ): Row<Answer, Own> => {
      const { params, query, request, errors = [] }: Details = details ?? {};
      const isValidated = (params ?? query ?? request) !== undefined;
      const success = response === null ? 204 : 200;
      const row = { service, section, method, path, response, success, ...details };
      return { ...row, errors: isValidated ? [...errors, 422] : errors } as unknown as Row<Answer, Own>;
    };
  return {
    get: row('GET'),
    post: row('POST'),
    put: row('PUT'),
    patch: row('PATCH'),
    delete: row('DELETE'),
  };
}

/** Contract 001's own table. */
export const CONTRACT_001 = 'contract 001, Endpoints';

/** Endpoints of contract 001's own table. */
export const ofContract = endpointsOf('runApi', CONTRACT_001);

/** Endpoints of the contract's public relatives, whose client works here unchanged. */
export const ofRelative = endpointsOf('runApi', 'facts, The Run API in the wild');
