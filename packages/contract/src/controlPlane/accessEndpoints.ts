import type { Endpoint } from '../endpoint.ts';
import { ApiKeyCreate, ApiKeyPath, ApiKeysList, ApiKeysQuery, CreatedApiKey } from './apiKey.ts';
import { AuditList, AuditQuery } from './audit.ts';
import { SecretsRotated } from './secretsRotation.ts';

const OURS = 'ours: docs/platform-access.md';

/** Who may do what on a platform of ours. Neither the contract nor its public relative has these. */
export const ACCESS_ENDPOINTS = {
  createApiKey: {
    service: 'controlPlane',
    method: 'POST',
    path: '/v1/api-keys',
    request: ApiKeyCreate,
    response: CreatedApiKey,
    success: 201,
    errors: [403, 422],
    section: OURS,
  },
  listApiKeys: {
    service: 'controlPlane',
    method: 'GET',
    path: '/v1/api-keys',
    query: ApiKeysQuery,
    response: ApiKeysList,
    success: 200,
    errors: [422],
    section: OURS,
  },
  revokeApiKey: {
    service: 'controlPlane',
    method: 'DELETE',
    path: '/v1/api-keys/{key_id}',
    params: ApiKeyPath,
    response: null,
    success: 204,
    errors: [404, 422],
    section: OURS,
  },
  listAudit: {
    service: 'controlPlane',
    method: 'GET',
    path: '/v1/audit',
    query: AuditQuery,
    response: AuditList,
    success: 200,
    errors: [422],
    section: OURS,
  },
  rotateSecrets: {
    service: 'controlPlane',
    method: 'POST',
    path: '/v1/secrets/rotation',
    response: SecretsRotated,
    success: 200,
    errors: [409],
    section: OURS,
  },
} as const satisfies Record<string, Endpoint>;
