import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import type { Kysely } from 'kysely';

import { first } from '../gateway/forward.ts';
import { isPreflight } from '../gateway/gateway.ts';
import { HttpProblem } from '../http/problem.ts';
import type { Schema } from '../store/schema.ts';
import type { Access } from './access.ts';

/**
 * Makes the function that authorizes requests to agents. It resolves if a request may reach the deployment's agent.
 * Any key of the deployment's tenant is enough: a caller that may read a deployment may run it. `GET /ok`, feedback
 * links and a browser's preflights need no key, as with a standalone agent.
 * @throws HttpProblem 401, 403 as `Access.authenticate`; 404 if the deployment does not belong to the caller's
 * tenant.
 */
export function createAgentAdmission(access: Access, kysely: Kysely<Schema>) {
  // Safe to cache: a deployment never changes its tenant, and ids are never reused.
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
    if (isPublicRequest(request.method, path) || isPreflight(request)) return;
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

function isPublicRequest(method: string | undefined, path: string): boolean {
  if (FEEDBACK_LINK.test(path)) return true;
  return (method === 'GET' || method === 'HEAD') && /^\/ok(?:\?.*)?$/u.test(path);
}

/** Makes the agents' API keys, one per deployment id. They are not stored: agents end with this process. */
export function createAgentKeys(): (deploymentId: string) => string {
  const secret = randomBytes(32);
  return (deploymentId) => createHmac('sha256', secret).update(deploymentId).digest('base64url');
}
