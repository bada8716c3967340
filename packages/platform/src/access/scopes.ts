import type { Scope } from '@slipway/contract/controlPlane/access';
import { CONTROL_PLANE_ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import type { Endpoint } from '@slipway/contract/endpoint';
import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { RouterRoute } from 'hono/types';

import { HttpProblem } from '../http/problem.ts';
import { callerOf, isOperator, permits } from './caller.ts';

export type Operation = keyof typeof CONTROL_PLANE_ENDPOINTS;

/**
 * The scope that a key needs for each endpoint, all in one table. Changing deployments needs `deploy`; tenant
 * settings and keys need `admin`. Integrations name variables and files of the platform itself, so only its own key
 * (the operator's) creates them.
 */
export const ENDPOINT_SCOPES = {
  createDeployment: 'deploy',
  getDeployment: 'read',
  patchDeployment: 'deploy',
  getRevision: 'read',
  redeployRevision: 'deploy',
  interruptRevision: 'deploy',
  listIntegrations: 'read',
  createIntegration: 'operator',
  deleteIntegration: 'operator',
  listListeners: 'read',
  createListener: 'admin',
  getListener: 'read',
  patchListener: 'admin',
  deleteListener: 'admin',
  createUploadUrl: 'deploy',
  createUploadUrlVersioned: 'deploy',
  listDeployments: 'read',
  deleteDeployment: 'deploy',
  deleteDeployments: 'deploy',
  listRevisions: 'read',
  getBuildLogs: 'read',
  getDeployLogs: 'read',
  getProjectDeployLogs: 'read',
  getRevisionLogs: 'read',
  createApiKey: 'admin',
  listApiKeys: 'admin',
  revokeApiKey: 'admin',
  listAudit: 'admin',
  rotateSecrets: 'operator',
} as const satisfies Record<Operation, Scope | 'operator'>;

/** The endpoint of a method and a Hono path (`/v2/deployments/:deployment_id`). */
export function operationAt(method: string, route: string): Operation | undefined {
  return BY_ROUTE.get(`${method} ${route}`);
}

const BY_ROUTE: ReadonlyMap<string, Operation> = new Map(
  (Object.entries(CONTROL_PLANE_ENDPOINTS) as [Operation, Endpoint][]).map(([name, { method, path }]) => [
    `${method} ${path.replaceAll(/\{(\w+)\}/gu, ':$1')}`,
    name,
  ]),
);

/** Middleware that requires the endpoint's scope, else 403 naming it. A route outside the table is never served. */
export const requireScope: MiddlewareHandler = async (c, next) => {
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

/** The route that serves a request, after its middleware. */
export function routeOf(c: Context): RouterRoute | undefined {
  return matchedRoutes(c).findLast(({ method }) => method !== 'ALL');
}

/** The endpoint of a request; undefined if no route serves it. */
export function operationOf(c: Context): Operation | undefined {
  const route = routeOf(c);
  if (route === undefined) return undefined;
  const operation = operationAt(route.method, route.path);
  if (operation === undefined) {
    throw new Error(`${route.method} ${route.path} is not in the table of endpoints.`);
  }
  return operation;
}
