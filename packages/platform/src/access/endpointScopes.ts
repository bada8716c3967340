import type { Scope } from '@slipway/contract/controlPlane/access';
import { CONTROL_PLANE_ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import type { Endpoint } from '@slipway/contract/endpoint';

/** The name of an endpoint of the control plane. */
export type Operation = keyof typeof CONTROL_PLANE_ENDPOINTS;

/**
 * The scope that a key needs for each endpoint: the one table of who may do what. What changes deployments needs
 * `deploy`, what a tenant sets up once and its keys need `admin`. Integrations name variables and files of the
 * platform itself: only its own key, the operator's, makes them.
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

/** The endpoint behind a method and a path as Hono has it (`/v2/deployments/:deployment_id`). */
export function operationAt(method: string, route: string): Operation | undefined {
  return BY_ROUTE.get(`${method} ${route}`);
}

const BY_ROUTE: ReadonlyMap<string, Operation> = new Map(
  (Object.entries(CONTROL_PLANE_ENDPOINTS) as [Operation, Endpoint][]).map(([name, { method, path }]) => [
    `${method} ${path.replaceAll(/\{(\w+)\}/gu, ':$1')}`,
    name,
  ]),
);
