import type { Kysely, Updateable } from 'kysely';

import type { RevisionsTable, Schema } from '../store/schema.ts';
import { nextStatus, type RevisionEvent, type RevisionStatus } from './revisionStates.ts';

/** Something that happened to a revision, to be made durable. */
export interface RevisionChange {
  readonly revisionId: string;
  readonly event: RevisionEvent;
  /** Why, in one sentence for people; shown as the revision's `status_message`. */
  readonly reason?: string;
  /** What else changes with it. */
  readonly set?: Omit<Updateable<RevisionsTable>, 'id' | 'status' | 'status_reason' | 'updated_at'>;
}

/**
 * Makes a change of a revision's status durable, with its line in the history, in one transaction.
 * @returns The new status; undefined, and nothing is changed, when the event does not happen to a revision of its
 * present status (somebody else was first) or there is no such revision.
 */
export async function recordChange(
  db: Kysely<Schema>,
  change: RevisionChange,
): Promise<RevisionStatus | undefined> {
  if (!db.isTransaction) return db.transaction().execute((trx) => recordChange(trx, change));
  const current = await db
    .selectFrom('revisions')
    .select('status')
    .where('id', '=', change.revisionId)
    .forUpdate()
    .executeTakeFirst();
  const status = current && nextStatus(current.status, change.event);
  if (status === undefined) return undefined;
  const at = new Date();
  await db
    .updateTable('revisions')
    .set({ ...change.set, status, status_reason: change.reason ?? null, updated_at: at })
    .where('id', '=', change.revisionId)
    .execute();
  await db
    .insertInto('revision_transitions')
    .values({
      revision_id: change.revisionId,
      from_status: current?.status ?? null,
      to_status: status,
      reason: change.reason ?? null,
      at,
    })
    .execute();
  return status;
}

/**
 * Ends a revision that was superseded or interrupted; the active one goes on serving as it did instead.
 * @returns As {@link recordChange}.
 */
export async function recordEnd(
  db: Kysely<Schema>,
  revisionId: string,
  event: 'superseded' | 'interrupted',
  reason: string,
): Promise<RevisionStatus | undefined> {
  const active = await db
    .selectFrom('deployments')
    .select('id')
    .where('active_revision_id', '=', revisionId)
    .executeTakeFirst();
  return recordChange(db, { revisionId, event: active === undefined ? event : 'keptServing', reason });
}
