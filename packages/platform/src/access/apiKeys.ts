import { createHash, randomUUID } from 'node:crypto';

import { type Kysely, type Selectable, sql } from 'kysely';

import type { ApiKeyCreate, ApiKeysQuery } from '@slipway/contract/controlPlane/access';
import { pick } from '@slipway/contract/pick';
import { HttpProblem } from '../http/problem.ts';
import { newApiKey } from '../store/keyFiles.ts';
import type { ApiKeysTable, Schema } from '../store/schema.ts';
import { recordAudit } from './audit.ts';
import { type Caller, isOperator } from './caller.ts';

/** How many characters of a key are stored to recognize it: `slipway_` and six of the 43 random ones. */
const PREFIX_LENGTH = 14;

/** The operations of the API key endpoints. `changed` is called with the hash of a changed key. */
export function createApiKeys(options: { kysely: Kysely<Schema>; changed: (keyHash: string) => void }) {
  const { kysely } = options;
  return {
    /** Creates a key: only this answer contains the key itself. */
    create: async (caller: Caller, request: ApiKeyCreate) => {
      const tenantIds = [...new Set(request.tenant_ids ?? [caller.tenantId])];
      if (!isOperator(caller) && tenantIds.some((id) => id !== caller.tenantId)) {
        throw new HttpProblem(403, "Only the platform's own key makes keys for other tenants.");
      }
      const key = newApiKey();
      const row = await kysely.transaction().execute(async (trx) => {
        const made = await trx
          .insertInto('api_keys')
          .values({
            id: randomUUID(),
            name: request.name,
            prefix: key.slice(0, PREFIX_LENGTH),
            key_hash: hashOfKey(key),
            scope: request.scope,
            tenant_ids: tenantIds,
            created_by: caller.keyId,
            created_at: new Date(),
            expires_at: request.expires_at == null ? null : new Date(request.expires_at),
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        await recordAudit(trx, caller, { key_id: made.id });
        return made;
      });
      return { ...apiKeyView(caller, row), key };
    },

    /** The keys of the caller's tenant, newest first. */
    list: async (caller: Caller, { limit, offset, revoked }: ApiKeysQuery) => {
      let select = kysely
        .selectFrom('api_keys')
        .selectAll()
        .where(isFor(caller.tenantId))
        .orderBy('created_at', 'desc')
        .orderBy('id')
        .limit(limit)
        .offset(offset);
      if (!revoked) select = select.where('revoked_at', 'is', null);
      const rows = await select.execute();
      return { resources: rows.map((row) => apiKeyView(caller, row)), offset: offset + rows.length };
    },

    /**
     * Revokes a key, at once and permanently. Decision: for a caller other than the operator, removes their own
     * tenant from the key; the key stays valid for its other tenants. Repeating it changes nothing.
     * @throws HttpProblem 404.
     */
    revoke: async (caller: Caller, keyId: string): Promise<void> => {
      const hash = await kysely.transaction().execute(async (trx) => {
        const row = await trx
          .selectFrom('api_keys')
          .selectAll()
          .where('id', '=', keyId)
          .where(isFor(caller.tenantId))
          .forUpdate()
          .executeTakeFirst();
        if (row === undefined) throw new HttpProblem(404, `API key ID ${keyId} not found.`);
        const left = isOperator(caller) ? [] : row.tenant_ids.filter((id) => id !== caller.tenantId);
        await trx
          .updateTable('api_keys')
          .set(left.length > 0 ? { tenant_ids: left } : { revoked_at: row.revoked_at ?? new Date() })
          .where('id', '=', keyId)
          .execute();
        await recordAudit(trx, caller, { key_id: keyId });
        return row.key_hash;
      });
      options.changed(hash);
    },
  };
}

/** The stored form of a key: SHA-256 in hexadecimal. A random key cannot be guessed, so a fast digest is safe. */
export function hashOfKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function isFor(tenantId: string) {
  return sql<boolean>`${tenantId}::uuid = any (tenant_ids)`;
}

function apiKeyView(caller: Caller, row: Selectable<ApiKeysTable>) {
  return {
    ...pick(row, 'id', 'name', 'prefix', 'scope', 'created_by'),
    ...pick(row, 'created_at', 'expires_at', 'revoked_at', 'last_used_at'),
    tenant_ids: isOperator(caller) ? row.tenant_ids : [caller.tenantId],
  };
}
