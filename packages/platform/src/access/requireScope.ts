import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';

import { HttpProblem } from '../http/problem.ts';
import { callerOf, isOperator, permits } from './caller.ts';
import { ENDPOINT_SCOPES, type Operation, operationAt } from './endpointScopes.ts';

/**
 * Middleware that lets only callers through whose key has the scope of the endpoint (`ENDPOINT_SCOPES`); others get
 * 403 with a sentence that names it. A route that is no endpoint of the table is served to nobody.
 */
export function requireScope(): MiddlewareHandler {
  return async (c, next) => {
    const operation = operationOf(c);
    if (operation !== undefined) {
      const caller = callerOf(c);
      const needed = ENDPOINT_SCOPES[operation];
      if (needed === 'operator') {
        if (!isOperator(caller)) throw new HttpProblem(403, "This needs the platform's own key.");
      } else if (!permits(caller, needed)) {
        const detail = `This needs an API key with the scope '${needed}'; the key '${caller.keyName}' has '${caller.scope}'.`;
        throw new HttpProblem(403, detail);
      }
    }
    await next();
  };
}

/** The endpoint that a request is for; undefined where no route serves it. */
export function operationOf(c: Context): Operation | undefined {
  const route = matchedRoutes(c).findLast(({ method }) => method !== 'ALL');
  if (route === undefined) return undefined;
  const operation = operationAt(route.method, route.path);
  if (operation === undefined) {
    throw new Error(`${route.method} ${route.path} is not in the table of endpoints.`);
  }
  return operation;
}
