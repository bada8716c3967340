import type { Endpoint } from '@slipway/contract/endpoint';
import type { Context, Hono } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { z } from 'zod';

import { parseBody, parseOptionalBody, parsePath, parseQuery } from './parse.ts';
import { methodProblem, refuseHead } from './problem.ts';

type Read<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** A parsed request to an endpoint; parts without a schema are undefined. */
interface Asked<E extends Endpoint> {
  readonly params: Read<E['params']>;
  readonly query: Read<E['query']>;
  readonly body: Read<E['request']>;
}

/** Serves an endpoint of a contract: parses the request, and responds with the result of `work`. */
export type Serve<More = object> = <E extends Endpoint>(
  endpoint: E,
  work: (asked: Asked<E> & More, c: Context) => Promise<unknown>,
) => void;

/**
 * Makes {@link Serve} for the routes of an app. A `Response` from `work` is sent unchanged. A POST whose fields are
 * all optional may have no body.
 * @param moreOf What `work` gets besides the parsed request.
 */
export function serveOn<More = object>(app: Hono, moreOf?: (c: Context) => More): Serve<More> {
  return (endpoint, work) => {
    const { method, path, params, query, request, response, success, streams, isGetOnly } = endpoint;
    const parse =
      method === 'POST' && request?.safeParse({}).success === true ? parseOptionalBody : parseBody;
    const pattern = path.replaceAll(/\{(\w+)\}/gu, ':$1');
    if (response === 'stream' || streams || isGetOnly) app.on(method, pattern, refuseHead);
    app.on(method, pattern, async (c) => {
      const asked = {
        ...moreOf?.(c),
        params: params && parsePathOf(pattern, params, app, c),
        query: query && parseQuery(query, c),
        body: request && (await parse(request, c)),
      };
      const answer = await work(asked as Asked<typeof endpoint> & More, c);
      if (answer instanceof Response) return answer;
      return response === null ? c.body(null, 204) : c.json(answer, success as ContentfulStatusCode);
    });
  };
}

/**
 * The path parameters of a route.
 * @throws HttpProblem 405 for `GET /runs/wait`: "wait" is no run, but a path of its own, with another method. 422 otherwise.
 */
function parsePathOf<S extends z.ZodType>(pattern: string, schema: S, app: Hono, c: Context): z.output<S> {
  try {
    return parsePath(schema, c);
  } catch (error) {
    throw methodProblem(app, c, (route) => route.path !== pattern) ?? error;
  }
}
