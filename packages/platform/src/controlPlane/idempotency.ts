import { createHmac } from 'node:crypto';

import type { Kysely, Transaction } from 'kysely';

import { canonicalJson } from '@slipway/contract/canonicalJson';
import { invalid } from '../http/problem.ts';
import type { Schema } from '../store/schema.ts';

/** How long a key is remembered, in milliseconds: a day. */
export const IDEMPOTENCY_KEPT_MS = 86_400_000;

/** Requests with an `Idempotency-Key`, each carried out once. */
export type Idempotency = ReturnType<typeof createIdempotency>;

/** Makes an {@link Idempotency}; `digestKey` is 32 bytes. */
export function createIdempotency(digestKey: Buffer) {
  const fingerprintOf = (request: unknown): string =>
    createHmac('sha256', digestKey).update(canonicalJson(request)).digest('base64url');

  return {
    /**
     * Carries out a request unless its key was used before; then gives what was answered then. Without a key it is
     * carried out however often it comes. The key is stored in the transaction of the work itself: of two at once the
     * second waits for the first, and what a crash takes back takes its key along. Decisions, where the IETF draft
     * leaves them open:
     * - Only a success is remembered. What was refused has changed nothing, so asking again may go better.
     * - A key is its tenant's, and outlives what was made with it: repeating a create within a day never creates a
     *   second deployment, even after the first was deleted.
     * - Secrets are not in the stored answer: the same request has the same ones. Of the request only a keyed digest is
     *   stored, from which no secret can be guessed.
     * @param keyed `request` is what was asked for, read and checked: without unknown fields, in any order.
     * @throws HttpProblem 422 where the key was used with another request.
     */
    once: async <T extends object>(
      trx: Transaction<Schema>,
      { tenantId, key, request }: { tenantId: string; key: string | undefined; request: unknown },
      work: () => Promise<T>,
    ): Promise<{ readonly answer: T; readonly replayed: boolean }> => {
      if (key === undefined) return { answer: await work(), replayed: false };
      const fingerprint = fingerprintOf(request);
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
        .values({ tenant_id: tenantId, key, fingerprint, answer: '{}', created_at: now })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'key']).doNothing())
        .executeTakeFirstOrThrow();
      if (inserted === 0n)
        return { answer: await replay<T>(trx, { tenantId, key, fingerprint }), replayed: true };
      const answer = await work();
      await trx
        .updateTable('idempotency_keys')
        .set({ answer: JSON.stringify(answer) })
        .where('tenant_id', '=', tenantId)
        .where('key', '=', key)
        .execute();
      return { answer, replayed: false };
    },

    /** Forgets keys that are older than a day. */
    clean: async (kysely: Kysely<Schema>): Promise<void> => {
      const oldest = new Date(Date.now() - IDEMPOTENCY_KEPT_MS);
      await kysely.deleteFrom('idempotency_keys').where('created_at', '<', oldest).execute();
    },
  };
}

async function replay<T extends object>(
  trx: Transaction<Schema>,
  { tenantId, key, fingerprint }: { tenantId: string; key: string; fingerprint: string },
): Promise<T> {
  const row = await trx
    .selectFrom('idempotency_keys')
    .select(['fingerprint', 'answer'])
    .where('tenant_id', '=', tenantId)
    .where('key', '=', key)
    .executeTakeFirstOrThrow();
  // Stored by us from an answer of this very shape.
  if (row.fingerprint === fingerprint) return row.answer as T;
  throw invalid([
    {
      loc: ['header', 'idempotency-key'],
      msg: 'The key was used with another request; use a new key for a new request',
      type: 'idempotency_key_reused',
    },
  ]);
}
