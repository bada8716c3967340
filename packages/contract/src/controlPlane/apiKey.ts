import { z } from 'zod';

import { LIST_MAX, NAME_MAX } from '../limits.ts';
import { PageQuery } from '../pageQuery.ts';
import { line, oneOf, QueryBoolean, Timestamp, Uuid } from '../scalars.ts';

/** What a key may do: `read` looks and runs agents, `deploy` changes deployments too, `admin` everything. */
export const Scope = oneOf(['read', 'deploy', 'admin']);
export type Scope = z.infer<typeof Scope>;

/** A moment that is still to come: a key that was never good is a slip of the pen. */
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
export const ApiKeysList = z.looseObject({ resources: z.array(ApiKey), offset: z.int() });
export type ApiKeysList = z.infer<typeof ApiKeysList>;

/** Its query. Revoked keys are left out unless they are asked for. */
export const ApiKeysQuery = z.object({ ...PageQuery.shape, revoked: QueryBoolean.default(false) });
export type ApiKeysQuery = z.infer<typeof ApiKeysQuery>;

/** The path of every request about one key. */
export const ApiKeyPath = z.object({ key_id: Uuid });
export type ApiKeyPath = z.infer<typeof ApiKeyPath>;
