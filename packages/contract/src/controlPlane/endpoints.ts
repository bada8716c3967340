import { ACCESS_ENDPOINTS } from './access.ts';
import { DEPLOYMENTS_ENDPOINTS } from './deployment.ts';
import { INTEGRATIONS_ENDPOINTS } from './integration.ts';
import { LISTENERS_ENDPOINTS } from './listener.ts';
import { LOGS_ENDPOINTS } from './logs.ts';
import { REVISIONS_ENDPOINTS } from './revision.ts';
import { UPLOADS_ENDPOINTS } from './uploadUrl.ts';

/**
 * The endpoints of the control plane (contract 000, "Endpoints"), those of the public API that fill its gaps, and our
 * own for teams that host the platform. If the contract shows no status, it is that of the public API: create
 * answers 201, delete 204.
 */
export const CONTROL_PLANE_ENDPOINTS = {
  ...DEPLOYMENTS_ENDPOINTS,
  ...REVISIONS_ENDPOINTS,
  ...INTEGRATIONS_ENDPOINTS,
  ...LISTENERS_ENDPOINTS,
  ...UPLOADS_ENDPOINTS,
  ...LOGS_ENDPOINTS,
  ...ACCESS_ENDPOINTS,
} as const;
