import { z } from 'zod';

import { endpointsOf } from '../endpoint.ts';
import { LIST_MAX, NAME_MAX } from '../limits.ts';
import { singleLineText, oneOf, PageQuery, QueryBoolean, text, Timestamp, Uuid } from '../scalars.ts';

/** What a key may do: `read` reads and runs agents, `deploy` also changes deployments, `admin` does everything. */
export const Scope = oneOf(['read', 'deploy', 'admin']);
export type Scope = z.infer<typeof Scope>;

/** A moment in the future, because a key that is already expired is a mistake. */
const FutureTimestamp = Timestamp.refine((value) => Date.parse(value) > Date.now(), {
  error: 'Input should be a moment in the future',
});

/**
 * `POST /v1/api-keys`. Only the platform's own key may name other tenants in `tenant_ids` (default: the caller's
 * tenant). Without `expires_at` the key is valid until it is revoked. Unknown fields are refused, because a misspelled
 * limit must not create a key without it.
 */
export const ApiKeyCreate = z.strictObject({
  name: singleLineText(NAME_MAX),
  scope: Scope,
  expires_at: FutureTimestamp.nullish(),
  tenant_ids: z.array(Uuid).min(1).max(LIST_MAX).nullish(),
});
export type ApiKeyCreate = z.infer<typeof ApiKeyCreate>;

/** An API key in an answer, without the key itself. */
export const ApiKey = z.looseObject({
  id: Uuid,
  name: z.string(),
  /** The beginning of the key: enough to recognize it, not to use it. */
  prefix: z.string(),
  scope: Scope,
  /** The key's tenants. Only the operator sees tenants other than their own. */
  tenant_ids: z.array(Uuid),
  /** The id of the key that created it; `operator` for the platform's own. */
  created_by: z.string(),
  created_at: Timestamp,
  expires_at: Timestamp.nullable(),
  revoked_at: Timestamp.nullable(),
  /** Up to a minute old. */
  last_used_at: Timestamp.nullable(),
});
export type ApiKey = z.infer<typeof ApiKey>;

/** The answer to creating a key: the only time that the key is shown. */
const CreatedApiKey = ApiKey.extend({ key: z.string() });

/** `GET /v1/api-keys`: newest first. */
const ApiKeysList = z.looseObject({ resources: z.array(ApiKey), offset: z.int() });

/** Its query. Revoked keys are left out by default. */
export const ApiKeysQuery = z.object({ ...PageQuery.shape, revoked: QueryBoolean.default(false) });
export type ApiKeysQuery = z.infer<typeof ApiKeysQuery>;

/** `refused`: the request got 4xx and changed nothing; `failed`: 5xx. */
export const AuditOutcome = oneOf(['done', 'refused', 'failed']);
export type AuditOutcome = z.infer<typeof AuditOutcome>;

/** One requested change: who, when, what, from where, and the outcome. */
export const AuditEntry = z.looseObject({
  /** Increases with time. */
  id: z.string(),
  at: Timestamp,
  tenant_id: Uuid,
  /** The id of an API key; `operator` for the platform's own, `platform` for its own actions. */
  key_id: z.string(),
  key_name: z.string(),
  /** The name of the endpoint. */
  operation: z.string(),
  /** The ids of the affected resources, by name. */
  resources: z.record(z.string(), z.string()),
  /** The names of the fields that the request set; never their values. */
  changed: z.array(z.string()),
  outcome: AuditOutcome,
  /** The status of the answer; null if the entry was stored in the change's transaction. */
  status: z.int().nullable(),
  address: z.string().nullable(),
  user_agent: z.string().nullable(),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** `GET /v1/audit`: newest first. */
export const AuditList = z.looseObject({ resources: z.array(AuditEntry), offset: z.int() });
export type AuditList = z.infer<typeof AuditList>;

/** Its query: all given filters must match. */
export const AuditQuery = z.object({
  ...PageQuery.shape,
  operation: text(NAME_MAX).optional(),
  key_id: text(NAME_MAX).optional(),
  /** The id of any changed resource. */
  resource_id: text(NAME_MAX).optional(),
  outcome: AuditOutcome.optional(),
  since: Timestamp.optional(),
  until: Timestamp.optional(),
});
export type AuditQuery = z.infer<typeof AuditQuery>;

/** The answer of `POST /v1/secrets/rotation`, once every stored secret has the new master key. */
const SecretsRotated = z.looseObject({
  /** How many stored lists of secrets were resealed. */
  resealed: z.int(),
});

const ours = endpointsOf('controlPlane', 'ours: docs/platform-access.md');

/** API keys, audit log and rotation: our own endpoints, in neither the contract nor the public API. */
export const ACCESS_ENDPOINTS = {
  createApiKey: ours.post('/v1/api-keys', CreatedApiKey, {
    request: ApiKeyCreate,
    success: 201,
    errors: [403],
  }),
  listApiKeys: ours.get('/v1/api-keys', ApiKeysList, { query: ApiKeysQuery }),
  revokeApiKey: ours.delete('/v1/api-keys/{key_id}', null),
  listAudit: ours.get('/v1/audit', AuditList, { query: AuditQuery }),
  rotateSecrets: ours.post('/v1/secrets/rotation', SecretsRotated, { errors: [409] }),
} as const;
