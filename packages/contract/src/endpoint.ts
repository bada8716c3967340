import { z } from 'zod';

import { AssistantId, CheckpointId, nonEmptyText, Uuid } from './scalars.ts';

/** One endpoint of a contract. Path and query schemas parse text; a missing schema means that there is no such part. */
export interface Endpoint {
  readonly service: 'controlPlane' | 'runApi' | 'tracing';
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to the service's base URL, with `{name}` for each path parameter. */
  readonly path: string;
  readonly params?: z.ZodObject | undefined;
  readonly query?: z.ZodObject;
  /** The headers that it uses, by lower-case name, besides the key and the tenant. */
  readonly headers?: z.ZodObject;
  readonly request?: z.ZodType;
  /** The JSON answer; `stream` for server-sent events; `null` for no content. */
  readonly response: z.ZodType | 'stream' | null;
  /** Set if the query may request a stream of server-sent events instead of that answer. */
  readonly streams?: true;
  /** Set if it waits or changes something, so that it is not served for HEAD. Streams are not either. */
  readonly isGetOnly?: true;
  /** The status that our servers send. Clients accept any 2xx. */
  readonly success: 200 | 201 | 202 | 204;
  /** The status of the same answer if the request succeeded only in part. */
  readonly partial?: 207;
  /** The error statuses of this endpoint, besides 401 and 403 for the key and 429 and 5xx anywhere. */
  readonly errors: readonly number[];
  /** Its origin: the contract and its section, or the public API that fills its gap. */
  readonly section: string;
}

/** The parameters of paths that are no uuids. */
const PATH_PARAMETERS: Readonly<Record<string, z.ZodType<string>>> = {
  // "." and ".." would change the path.
  assistant_id: AssistantId.refine((id) => id !== '.' && id !== '..', {
    error: 'Input should not be a path segment',
  }),
  checkpoint_id: CheckpointId,
  namespace: nonEmptyText(),
  token_id: nonEmptyText(),
};

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;
type ParamsOf<Path extends string> = [NamesIn<Path>] extends [never]
  ? undefined
  : z.ZodObject<Record<NamesIn<Path>, z.ZodType<string>>>;

function paramsOf(path: string): z.ZodObject | undefined {
  const names = [...path.matchAll(/\{(\w+)\}/gu)].map(([, name = '']) => name);
  if (names.length === 0) return undefined;
  return z.object(Object.fromEntries(names.map((name) => [name, PATH_PARAMETERS[name] ?? Uuid])));
}

type EndpointDetails = Partial<
  Omit<Endpoint, 'service' | 'method' | 'path' | 'params' | 'response' | 'section'>
>;
type EndpointRow<Path extends string, Answer, Own> = Omit<Endpoint, keyof Own | 'params' | 'response'> &
  Omit<Own, 'errors'> & {
    readonly params: ParamsOf<Path>;
    readonly response: Answer;
    readonly errors: readonly number[];
  };

/**
 * Makes the rows of a table of endpoints from one section: a path, its answer, and what differs from the defaults.
 * Defaults: `success` is 200, or 204 without content. `errors` are those besides 404 for the parameters of the path,
 * and 422 if there is anything to validate.
 */
export function endpointsOf(service: Endpoint['service'], section: string) {
  const row =
    (method: Endpoint['method']) =>
    <
      const Path extends string,
      Answer extends Endpoint['response'],
      const Own extends EndpointDetails = object,
    >(
      path: Path,
      response: Answer,
      details?: Own,
    ): EndpointRow<Path, Answer, Own> => {
      const { query, request, errors = [] }: EndpointDetails = details ?? {};
      const params = paramsOf(path);
      const notFound = params === undefined ? [] : [404];
      const invalid = (params ?? query ?? request) === undefined ? [] : [422];
      const success = response === null ? 204 : 200;
      const row = { service, section, method, path, params, response, success, ...details };
      return { ...row, errors: [...notFound, ...errors, ...invalid] } as unknown as EndpointRow<
        Path,
        Answer,
        Own
      >;
    };
  return { get: row('GET'), post: row('POST'), put: row('PUT'), patch: row('PATCH'), delete: row('DELETE') };
}

/** The section of contract 001's table. */
export const CONTRACT_001 = 'contract 001, Endpoints';

/** Endpoints from contract 001's table. */
export const runApi = endpointsOf('runApi', CONTRACT_001);

/** Endpoints of the public API, whose client works here unchanged. */
export const publicRunApi = endpointsOf('runApi', 'the public API');

/** Endpoints from contract 000's table. */
export const contract = endpointsOf('controlPlane', 'contract 000, Endpoints');

/** Endpoints of the public API that fill the contract's gaps. */
export const publicApi = endpointsOf('controlPlane', 'the public API');

/** Our own endpoints, for teams that host the platform. */
export const ours = endpointsOf('controlPlane', 'this platform, beyond the contract');
