import {
  ACCESS_ENDPOINTS as ENDPOINTS,
  type ApiKeyCreate,
  type ApiKeysQuery,
  type AuditQuery,
} from '@slipway/contract/controlPlane/access';

import { type CallOptions, createService, type ServiceOptions, valuesOf } from './service.ts';

export type PlatformAccessClient = ReturnType<typeof createPlatformAccessClient>;

/**
 * Makes the client for a platform's API keys, audit log and secrets; the key needs the scope `admin`. Each call throws a
 * `ServiceError` for everything but a success.
 *
 * @throws SlipwayError CONFIG_INVALID when the base URL or the key cannot be used.
 */
export function createPlatformAccessClient(options: ServiceOptions) {
  const service = createService(options);
  const ask = valuesOf(service);
  return {
    /** Makes a key; only this answer shows it. */
    createApiKey: (body: ApiKeyCreate, call?: CallOptions) => ask(ENDPOINTS.createApiKey, { body }, call),
    listApiKeys: (query: Partial<ApiKeysQuery> = {}, call?: CallOptions) =>
      ask(ENDPOINTS.listApiKeys, { query }, call),
    revokeApiKey: (keyId: string, call?: CallOptions) =>
      ask(ENDPOINTS.revokeApiKey, { params: { key_id: keyId } }, call),
    listAudit: (query: Partial<AuditQuery> = {}, call?: CallOptions) =>
      ask(ENDPOINTS.listAudit, { query }, call),
    /** Encrypts the stored secrets under a new master key; answers once all are. Only for the platform's own key. */
    rotateSecrets: (call?: CallOptions) => ask(ENDPOINTS.rotateSecrets, {}, call),
    /** Closes the connections once the requests in flight have ended. */
    close: () => service.close(),
  };
}
