import { sameSecret } from '@slipway/contract/sameSecret';
import type { MiddlewareHandler } from 'hono';

import { HttpProblem } from './problem.ts';

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
