import {
  ACCESS_ENDPOINTS as ENDPOINTS,
  type ApiKeyCreate,
  type ApiKeysList,
  type ApiKeysQuery,
  type AuditList,
  type AuditQuery,
  type CreatedApiKey,
  type SecretsRotated,
} from '@slipway/contract/controlPlane/access';

import { type CallOptions, createService, type ServiceOptions } from './service.ts';

/** The client of who may do what on a platform. Each call throws a `ServiceError` for everything but a success. */
export interface PlatformAccessClient {
  /** Makes a key; the answer is the one place where it is shown. */
  createApiKey(body: ApiKeyCreate, options?: CallOptions): Promise<CreatedApiKey>;
  listApiKeys(query?: Partial<ApiKeysQuery>, options?: CallOptions): Promise<ApiKeysList>;
  revokeApiKey(keyId: string, options?: CallOptions): Promise<void>;
  listAudit(query?: Partial<AuditQuery>, options?: CallOptions): Promise<AuditList>;
  /** Gives the stored secrets a new master key; answers once all of them have it. Only for the platform's own key. */
  rotateSecrets(options?: CallOptions): Promise<SecretsRotated>;
  /** Closes the connections once the requests in flight have ended. */
  close(): Promise<void>;
}

/**
 * Makes a {@link PlatformAccessClient}; the key needs the scope `admin`.
 * @throws SlipwayError CONFIG_INVALID when the base URL or the key cannot be used.
 */
export function createPlatformAccessClient(options: ServiceOptions): PlatformAccessClient {
  const service = createService(options);
  return {
    createApiKey: async (body, call) => (await service.call(ENDPOINTS.createApiKey, { body }, call)).value,
    listApiKeys: async (query = {}, call) =>
      (await service.call(ENDPOINTS.listApiKeys, { query }, call)).value,
    revokeApiKey: async (keyId, call) => {
      await service.call(ENDPOINTS.revokeApiKey, { params: { key_id: keyId } }, call);
    },
    listAudit: async (query = {}, call) => (await service.call(ENDPOINTS.listAudit, { query }, call)).value,
    rotateSecrets: async (call) => (await service.call(ENDPOINTS.rotateSecrets, {}, call)).value,
    close: () => service.close(),
  };
}
