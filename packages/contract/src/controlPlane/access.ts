import { z } from 'zod';

import { endpointsOf } from '../endpoint.ts';
import { LIST_MAX, NAME_MAX } from '../limits.ts';
import { line, oneOf, PageQuery, QueryBoolean, text, Timestamp, Uuid } from '../scalars.ts';

/** What a key may do: `read` looks and runs agents, `deploy` changes deployments too, `admin` everything. */
export const Scope = oneOf(['read', 'deploy', 'admin']);
export type Scope = z.infer<typeof Scope>;

/** A moment in the future: a key that has expired before it is created is a mistake. */
const FutureTimestamp = Timestamp.refine((value) => Date.parse(value) > Date.now(), {
  error: 'Input should be a moment in the future',
});

/**
 * `POST /v1/api-keys`. `tenant_ids` (default: the caller's tenant) may name other tenants only with the platform's own
 * key. Without `expires_at` the key is good until it is revoked.
 */
export const ApiKeyCreate = z.object({
  name: line(NAME_MAX),
  scope: Scope,
  expires_at: FutureTimestamp.nullish(),
  tenant_ids: z.array(Uuid).min(1).max(LIST_MAX).nullish(),
});
export type ApiKeyCreate = z.infer<typeof ApiKeyCreate>;

/** An API key as it is answered: never the key itself. */
export const ApiKey = z.looseObject({
  id: Uuid,
  name: z.string(),
  /** How the key begins: enough to know it by, not to use it. */
  prefix: z.string(),
  scope: Scope,
  /** Whose it is. Anyone but the operator sees their own tenant alone. */
  tenant_ids: z.array(Uuid),
  /** The id of the key that made it; `operator` for the platform's own. */
  created_by: z.string(),
  created_at: Timestamp,
  expires_at: Timestamp.nullable(),
  revoked_at: Timestamp.nullable(),
  /** Up to a minute behind. */
  last_used_at: Timestamp.nullable(),
});
export type ApiKey = z.infer<typeof ApiKey>;

/** The answer to making a key: the one time that the key is shown. */
export const CreatedApiKey = ApiKey.extend({ key: z.string() });
export type CreatedApiKey = z.infer<typeof CreatedApiKey>;

/** `GET /v1/api-keys`: newest first. */
const ApiKeysList = z.looseObject({ resources: z.array(ApiKey), offset: z.int() });

/** Its query. Revoked keys are left out unless they are asked for. */
export const ApiKeysQuery = z.object({ ...PageQuery.shape, revoked: QueryBoolean.default(false) });
export type ApiKeysQuery = z.infer<typeof ApiKeysQuery>;

/** `refused`: the request was answered with 4xx and changed nothing; `failed`: 5xx. */
export const AuditOutcome = oneOf(['done', 'refused', 'failed']);
export type AuditOutcome = z.infer<typeof AuditOutcome>;

/** One change that was asked for: who, when, what, from where, and how it ended. */
export const AuditEntry = z.looseObject({
  /** Larger ones are later. */
  id: z.string(),
  at: Timestamp,
  tenant_id: Uuid,
  /** The id of an API key; `operator` for the platform's own, `platform` for what it does by itself. */
  key_id: z.string(),
  key_name: z.string(),
  /** The name of the endpoint. */
  operation: z.string(),
  /** The ids of what it was about, by name. */
  resources: z.record(z.string(), z.string()),
  /** The names of the fields that the request set; never their values. */
  changed: z.array(z.string()),
  outcome: AuditOutcome,
  /** What was answered; null where it was recorded with the change itself. */
  status: z.int().nullable(),
  address: z.string().nullable(),
  user_agent: z.string().nullable(),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** `GET /v1/audit`: newest first. */
export const AuditList = z.looseObject({ resources: z.array(AuditEntry), offset: z.int() });
export type AuditList = z.infer<typeof AuditList>;

/** Its query: every filter that is given has to fit. */
export const AuditQuery = z.object({
  ...PageQuery.shape,
  operation: text(NAME_MAX).optional(),
  key_id: text(NAME_MAX).optional(),
  /** The id of anything that was changed. */
  resource_id: text(NAME_MAX).optional(),
  outcome: AuditOutcome.optional(),
  since: Timestamp.optional(),
  until: Timestamp.optional(),
});
export type AuditQuery = z.infer<typeof AuditQuery>;

/** `POST /v1/secrets/rotation`, once every stored secret has the new master key. */
const SecretsRotated = z.looseObject({
  /** How many stored lists of secrets were sealed anew. */
  resealed: z.int(),
});

const ours = endpointsOf('controlPlane', 'ours: docs/platform-access.md');

/** Who may do what on a platform of ours. Neither the contract nor its public relative has these. */
export const ACCESS_ENDPOINTS = {
  createApiKey: ours.post('/v1/api-keys', CreatedApiKey, {
    request: ApiKeyCreate,
    success: 201,
    errors: [403],
  }),
  listApiKeys: ours.get('/v1/api-keys', ApiKeysList, { query: ApiKeysQuery }),
  revokeApiKey: ours.delete('/v1/api-keys/{key_id}', null, {
    params: z.object({ key_id: Uuid }),
    errors: [404],
  }),
  listAudit: ours.get('/v1/audit', AuditList, { query: AuditQuery }),
  rotateSecrets: ours.post('/v1/secrets/rotation', SecretsRotated, { errors: [409] }),
} as const;
