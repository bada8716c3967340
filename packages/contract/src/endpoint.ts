import type { z } from 'zod';

/** One endpoint of a contract. Path and query schemas parse text; a missing schema means that there is no such part. */
export interface Endpoint {
  readonly service: 'controlPlane' | 'runApi' | 'tracing';
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to the service's base URL, with `{name}` for each path parameter. */
  readonly path: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** The headers that it uses, by lower-case name, besides the key and the tenant. */
  readonly headers?: z.ZodObject;
  readonly request?: z.ZodType;
  /** The JSON answer; `stream` for server-sent events; `null` for no content. */
  readonly response: z.ZodType | 'stream' | null;
  /** Set if the query may request a stream of server-sent events instead of that answer. */
  readonly streams?: true;
  /** The status that our servers send. Clients accept any 2xx. */
  readonly success: 200 | 201 | 202 | 204;
  /** The status of the same answer if the request succeeded only in part. */
  readonly partial?: 207;
  /** The error statuses of this endpoint, besides 401 and 403 for the key and 429 and 5xx anywhere. */
  readonly errors: readonly number[];
  /** Its origin: the contract and its section, or the public API that fills its gap. */
  readonly section: string;
}

type EndpointDetails = Partial<Omit<Endpoint, 'service' | 'method' | 'path' | 'response' | 'section'>>;
type EndpointRow<Answer, Own> = Omit<Endpoint, keyof Own | 'response'> &
  Omit<Own, 'errors'> & { readonly response: Answer; readonly errors: readonly number[] };

/**
 * Makes the rows of a table of endpoints from one section: a path, its answer, and what differs from the defaults.
 * Defaults: `success` is 200, or 204 without content; `errors` are none, plus 422 if there is anything to validate.
 */
export function endpointsOf(service: Endpoint['service'], section: string) {
  const row =
    (method: Endpoint['method']) =>
    <Answer extends Endpoint['response'], const Own extends EndpointDetails = object>(
      path: string,
      response: Answer,
      details?: Own,
    ): EndpointRow<Answer, Own> => {
      const { params, query, request, errors = [] }: EndpointDetails = details ?? {};
      const isValidated = (params ?? query ?? request) !== undefined;
      const success = response === null ? 204 : 200;
      const row = { service, section, method, path, response, success, ...details };
      return { ...row, errors: isValidated ? [...errors, 422] : errors } as unknown as EndpointRow<
        Answer,
        Own
      >;
    };
  return {
    get: row('GET'),
    post: row('POST'),
    put: row('PUT'),
    patch: row('PATCH'),
    delete: row('DELETE'),
  };
}

/** The section of contract 001's table. */
export const CONTRACT_001 = 'contract 001, Endpoints';

/** Endpoints from contract 001's table. */
export const runApiEndpoints = endpointsOf('runApi', CONTRACT_001);

/** Endpoints of the public API, whose client works here unchanged. */
export const publicRunApiEndpoints = endpointsOf('runApi', 'facts, The Run API in the wild');
