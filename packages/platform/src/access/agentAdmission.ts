import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import type { Kysely } from 'kysely';

import { first } from '../gateway/forward.ts';
import { HttpProblem } from '../http/problem.ts';
import type { Schema } from '../store/schema.ts';
import type { Access } from './access.ts';

/**
 * Makes what lets requests to agents through. It resolves if a request may go on to the deployment's agent. Any key of the
 * deployment's tenant will do: whoever may look at a deployment may run it. `GET /ok`, feedback links and a browser's
 * preflights ask for none, as with an agent that runs alone.
 * @throws HttpProblem 401, 403 as `Access.authenticate`; 404 for a deployment that is not of the caller's tenant.
 */
export function createAgentAdmission(access: Access, kysely: Kysely<Schema>) {
  // A deployment never changes hands, and ids are never used twice.
  const tenants = new Map<string, string>();

  const tenantOf = async (deploymentId: string): Promise<string | undefined> => {
    const known = tenants.get(deploymentId);
    if (known !== undefined) return known;
    const row = await kysely
      .selectFrom('deployments')
      .select('tenant_id')
      .where('id', '=', deploymentId)
      .executeTakeFirst();
    if (row !== undefined) tenants.set(deploymentId, row.tenant_id);
    return row?.tenant_id;
  };

  return async (request: IncomingMessage, deploymentId: string, path: string): Promise<void> => {
    const { headers } = request;
    if (isOpen(request.method, path) || isPreflight(request)) return;
    const caller = await access.authenticate({
      apiKey: first(headers['x-api-key']),
      authorization: headers.authorization,
      tenantId: first(headers['x-tenant-id']),
      address: access.addressOf(request),
      userAgent: headers['user-agent'] ?? null,
    });
    if ((await tenantOf(deploymentId)) !== caller.tenantId) {
      throw new HttpProblem(404, `Deployment ID ${deploymentId} not found.`);
    }
  };
}

const FEEDBACK_LINK = /^\/api\/v1\/feedback\/tokens\/[0-9a-f-]+(?:\?.*)?$/iu;

/** What an agent answers without a key. */
function isOpen(method: string | undefined, path: string): boolean {
  if (FEEDBACK_LINK.test(path)) return true;
  return (method === 'GET' || method === 'HEAD') && /^\/ok(?:\?.*)?$/u.test(path);
}

/** A browser asks with it whether a page may send a request, and shows no key. */
function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/**
 * Makes the keys that agents ask for, one per deployment, by its id. They live as long as the process, as the agents that it
 * starts do: none is stored.
 */
export function createAgentKeys(): (deploymentId: string) => string {
  const secret = randomBytes(32);
  return (deploymentId) => createHmac('sha256', secret).update(deploymentId).digest('base64url');
}
