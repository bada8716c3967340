import { createHash, randomUUID } from 'node:crypto';

import type { Kysely, Transaction } from 'kysely';

import { canonicalJson } from '@slipway/contract/json';
import { invalid } from '../http/problem.ts';
import type { Schema } from '../store/schema.ts';
import type { Sealing } from '../store/sealing.ts';

/** How long a key is stored, in milliseconds: a day. */
export const IDEMPOTENCY_KEPT_MS = 86_400_000;

/** Carries out each request with an `Idempotency-Key` once. */
export type Idempotency = ReturnType<typeof createIdempotency>;

/** Makes an {@link Idempotency}. */
export function createIdempotency(sealing: Sealing) {
  return {
    /**
     * Carries out a request, or returns the stored answer if its key was used before. Without a key it is always
     * carried out. The key is stored in the transaction of the work: of two concurrent requests the second waits for
     * the first, and a rollback also removes the key. Decisions where the IETF draft is open:
     * - Only a success is stored. A rejected request has changed nothing, so it may succeed later.
     * - A key belongs to its tenant, and outlives what it created: repeating a create within a day never creates a
     *   second deployment, even after the first was deleted.
     * - The stored answer has no secrets, because the same request has the same ones. Of the request only a sealed
     *   digest is stored, from which no secret can be guessed.
     * @param keyed `request` is the parsed request: without unknown fields, in any order.
     * @throws HttpProblem 422 if the key was used with another request.
     */
    once: async <T extends object>(
      trx: Transaction<Schema>,
      { tenantId, key, request }: { tenantId: string; key: string | undefined; request: unknown },
      work: () => Promise<T>,
    ): Promise<{ readonly answer: T; readonly replayed: boolean }> => {
      if (key === undefined) return { answer: await work(), replayed: false };
      const fingerprint = fingerprintOf(request);
      const id = randomUUID();
      const now = new Date();
      await trx
        .deleteFrom('idempotency_keys')
        .where('tenant_id', '=', tenantId)
        .where('key', '=', key)
        .where('created_at', '<', new Date(now.getTime() - IDEMPOTENCY_KEPT_MS))
        .execute();
      // Waits for another transaction that has just written the same key.
      const { numInsertedOrUpdatedRows: inserted } = await trx
        .insertInto('idempotency_keys')
        .values({
          id,
          tenant_id: tenantId,
          key,
          sealed_fingerprint: sealing.seal(fingerprint, id),
          answer: '{}',
          created_at: now,
        })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'key']).doNothing())
        .executeTakeFirstOrThrow();
      if (inserted === 0n)
        return { answer: await replay<T>(trx, sealing, { tenantId, key, fingerprint }), replayed: true };
      const answer = await work();
      await trx
        .updateTable('idempotency_keys')
        .set({ answer: JSON.stringify(answer) })
        .where('id', '=', id)
        .execute();
      return { answer, replayed: false };
    },

    clean: async (kysely: Kysely<Schema>): Promise<void> => {
      const oldest = new Date(Date.now() - IDEMPOTENCY_KEPT_MS);
      await kysely.deleteFrom('idempotency_keys').where('created_at', '<', oldest).execute();
    },
  };
}

function fingerprintOf(request: unknown): string {
  return createHash('sha256').update(canonicalJson(request)).digest('base64url');
}

async function replay<T extends object>(
  trx: Transaction<Schema>,
  sealing: Sealing,
  { tenantId, key, fingerprint }: { tenantId: string; key: string; fingerprint: string },
): Promise<T> {
  const row = await trx
    .selectFrom('idempotency_keys')
    .select(['id', 'sealed_fingerprint', 'answer'])
    .where('tenant_id', '=', tenantId)
    .where('key', '=', key)
    .executeTakeFirstOrThrow();
  // Stored by us from an answer of this shape.
  if (sealing.open(row.sealed_fingerprint, row.id) === fingerprint) return row.answer as T;
  throw invalid([
    {
      loc: ['header', 'idempotency-key'],
      msg: 'The key was used with another request; use a new key for a new request',
      type: 'idempotency_key_reused',
    },
  ]);
}
