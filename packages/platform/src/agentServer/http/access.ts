import { sameSecret } from '@slipway/contract/sameSecret';
import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import type { CorsSettings } from '@slipway/contract/graphConfig';

import { HttpProblem } from '../../http/problem.ts';

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE'];
/** The headers that the public client reads: the addresses of a run, and the length of a list. */
const READ_BY_CLIENTS = ['Content-Location', 'Location', 'X-Pagination-Total', 'X-Pagination-Next'];
/** How long a browser may cache a preflight's answer, in seconds. */
const MAX_AGE_S = 600;
const LOOPBACK = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/u;

/**
 * Middleware that lets pages of other origins call the agent from a browser, as `http.cors` of the graph
 * configuration allows. It runs before the check of the key, because preflights carry no key.
 *
 * Decision: if the configuration has no origins, every origin may call an agent that requires a key, because a caller
 * with the key may call from anywhere. An agent without a key accepts only pages of this machine. Otherwise any page
 * on the internet could reach it through the browser of the person who runs it.
 */
export function browserAccess(settings: CorsSettings | undefined, hasKey: boolean): MiddlewareHandler {
  const {
    allow_origins: origins,
    allow_origin_regex: pattern,
    allow_credentials: credentials,
  } = settings ?? {};
  const isNamed = origins !== undefined || pattern !== undefined;
  const expression = pattern === undefined ? undefined : new RegExp(`^(?:${pattern})$`, 'u');
  const isAllowed = (origin: string): boolean => {
    if (!isNamed) return hasKey || LOOPBACK.test(origin);
    return (
      origins?.includes('*') === true ||
      origins?.includes(origin) === true ||
      expression?.test(origin) === true
    );
  };
  const all = (given: readonly string[] | undefined): boolean => given === undefined || given.includes('*');
  return cors({
    origin: (origin) => (origin !== '' && isAllowed(origin) ? origin : null),
    allowMethods: all(settings?.allow_methods) ? METHODS : [...(settings?.allow_methods ?? [])],
    // An empty list allows the headers that the preflight asks for.
    allowHeaders: all(settings?.allow_headers) ? [] : [...(settings?.allow_headers ?? [])],
    exposeHeaders: [...READ_BY_CLIENTS, ...(settings?.expose_headers ?? [])],
    maxAge: settings?.max_age ?? MAX_AGE_S,
    ...(credentials === true && { credentials }),
  });
}

/** Middleware that requires the right `X-Api-Key` (contract 000): 401 without, 403 with a wrong one. */
export function requireApiKey(key: string): MiddlewareHandler {
  return async (c, next) => {
    const given = c.req.header('x-api-key');
    if (given === undefined || given === '') {
      throw new HttpProblem(401, 'An API key is required in the header X-Api-Key.');
    }
    if (!sameSecret(given, key)) throw new HttpProblem(403, 'The API key is not valid.');
    await next();
  };
}
