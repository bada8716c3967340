import {
  ACCESS_ENDPOINTS as ENDPOINTS,
  type ApiKeyCreate,
  type ApiKeysQuery,
  type AuditQuery,
} from '@slipway/contract/controlPlane/access';

import { eachOfPages } from './controlPlane.ts';
import { type CallOptions, createService, type ServiceOptions } from './service.ts';

export type PlatformAccessClient = ReturnType<typeof createPlatformAccessClient>;

/**
 * Creates a client for a platform's API keys, audit log and secrets. The key needs the scope `admin`. Each call
 * throws a `ServiceError` unless it succeeds.
 * @throws SlipwayError CONFIG_INVALID if the base URL or the key cannot be used.
 */
export function createPlatformAccessClient(options: ServiceOptions) {
  const service = createService(options);
  const { call: ask } = service;
  return {
    /** Creates a key. Only this answer contains it. */
    createApiKey: (body: ApiKeyCreate) => ask(ENDPOINTS.createApiKey, { body }),
    eachApiKey: (query: Pick<ApiKeysQuery, 'revoked'>) =>
      eachOfPages((page) => ask(ENDPOINTS.listApiKeys, { query: { ...query, ...page } })),
    revokeApiKey: (keyId: string) => ask(ENDPOINTS.revokeApiKey, { params: { key_id: keyId } }),
    listAudit: (query: Partial<AuditQuery>) => ask(ENDPOINTS.listAudit, { query }),
    /** Encrypts the stored secrets with a new master key. Only for the platform's own key. */
    rotateSecrets: (call: CallOptions) => ask(ENDPOINTS.rotateSecrets, {}, call),
    close: () => service.close(),
  };
}
