import type { Kysely, Updateable } from 'kysely';

import type { RevisionsTable, Schema } from '../store/schema.ts';
import { nextStatus, type RevisionEvent, type RevisionStatus } from './revisionStates.ts';

/** An event of a revision, to be stored. */
export interface RevisionChange {
  readonly revisionId: string;
  readonly event: RevisionEvent;
  /** The reason in one sentence for people; shown as the revision's `status_message`. */
  readonly reason?: string;
  /** Other columns to change with it. */
  readonly set?: Omit<Updateable<RevisionsTable>, 'id' | 'status' | 'status_reason' | 'updated_at'>;
}

/**
 * Stores a change of a revision's status and its line in the history, in one transaction.
 * @returns The new status; undefined, without a change, if the event does not apply to the current status (another
 * party was first) or the revision does not exist.
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
  // It may quote the output of a command, and a `text` cannot store U+0000.
  const reason = change.reason?.replaceAll('\0', '\uFFFD') ?? null;
  await db
    .updateTable('revisions')
    .set({ ...change.set, status, status_reason: reason, updated_at: at })
    .where('id', '=', change.revisionId)
    .execute();
  await db
    .insertInto('revision_transitions')
    .values({
      revision_id: change.revisionId,
      from_status: current?.status ?? null,
      to_status: status,
      reason,
      at,
    })
    .execute();
  return status;
}

/**
 * Ends a superseded or interrupted revision. If it is the active one, it keeps serving instead.
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
