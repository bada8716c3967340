import {
  ACCESS_ENDPOINTS as ENDPOINTS,
  type ApiKeyCreate,
  type ApiKeysQuery,
  type AuditQuery,
} from '@slipway/contract/controlPlane/access';

import { type CallOptions, createService, type ServiceOptions, valuesOf } from './service.ts';

export type PlatformAccessClient = ReturnType<typeof createPlatformAccessClient>;

/**
 * Creates a client for a platform's API keys, audit log and secrets. The key needs the scope `admin`. Each call
 * throws a `ServiceError` unless it succeeds.
 *
 * @throws SlipwayError CONFIG_INVALID if the base URL or the key cannot be used.
 */
export function createPlatformAccessClient(options: ServiceOptions) {
  const service = createService(options);
  const ask = valuesOf(service);
  return {
    /** Creates a key. Only this answer contains it. */
    createApiKey: (body: ApiKeyCreate, call?: CallOptions) => ask(ENDPOINTS.createApiKey, { body }, call),
    listApiKeys: (query: Partial<ApiKeysQuery> = {}, call?: CallOptions) =>
      ask(ENDPOINTS.listApiKeys, { query }, call),
    revokeApiKey: (keyId: string, call?: CallOptions) =>
      ask(ENDPOINTS.revokeApiKey, { params: { key_id: keyId } }, call),
    listAudit: (query: Partial<AuditQuery> = {}, call?: CallOptions) =>
      ask(ENDPOINTS.listAudit, { query }, call),
    /**
     * Encrypts the stored secrets with a new master key. Answers when all are encrypted. Only for the platform's own
     * key.
     */
    rotateSecrets: (call?: CallOptions) => ask(ENDPOINTS.rotateSecrets, {}, call),
    /** Closes the connections after the running requests have ended. */
    close: () => service.close(),
  };
}
