import type { Revision, RevisionsQuery } from '@slipway/contract/controlPlane/revision';
import { type Kysely, type Selectable, sql } from 'kysely';

import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { HttpProblem } from '../http/problem.ts';
import type { RevisionsTable, Schema } from '../store/schema.ts';
import { findDeployment, revisionView } from './deploymentRows.ts';
import { recordChange, recordEnd } from './revisionLedger.ts';
import { type RevisionStatus, UNSETTLED_STATUSES } from './revisionStates.ts';

/** The operations of the revision endpoints, for the caller's tenant. Every problem is an {@link HttpProblem}. */
export type Revisions = ReturnType<typeof createRevisions>;

/** Makes {@link Revisions}; `changed` is called after each change that may need work. */
export function createRevisions(options: {
  kysely: Kysely<Schema>;
  changed: () => void;
  interruptWork: (revisionId: string) => void;
}) {
  const { kysely } = options;
  return {
    /** @throws HttpProblem 404. */
    get: async (caller: Caller, deploymentId: string, revisionId: string): Promise<Revision> => {
      const found = await selectRevisions(kysely, caller, deploymentId)
        .where('revisions.id', '=', revisionId)
        .executeTakeFirst();
      if (found !== undefined) return revisionView(found);
      await findDeployment(kysely, caller, deploymentId);
      throw revisionNotFound(revisionId);
    },

    /** Newest first. @throws HttpProblem 404. */
    list: async (caller: Caller, deploymentId: string, query: RevisionsQuery) => {
      let select = selectRevisions(kysely, caller, deploymentId)
        .orderBy('revisions.number', 'desc')
        .limit(query.limit)
        .offset(query.offset);
      const asked = query.status ?? [];
      if (asked.length > 0) {
        // An unknown status matches nothing.
        select = select.where('revisions.status', 'in', sql<RevisionStatus>`(${sql.join(asked)})`);
      }
      // See `RevisionsQuery`: everything is reconciled here.
      if (query.remote_reconciled === false) select = select.where(sql<boolean>`false`);
      const rows = await select.execute();
      // Without rows, the deployment may not exist.
      if (rows.length === 0) await findDeployment(kysely, caller, deploymentId);
      return { resources: rows.map(revisionView), offset: query.offset + rows.length };
    },

    /**
     * Requests an earlier revision again. Decisions where the contract is silent:
     * - The same revision is deployed again: its id stays, and its status goes through `AWAITING_DEPLOY` and
     *   `DEPLOYING` to `DEPLOYED`, with its original source, secrets and commands. Its build is used again. If that
     *   is gone, it is built again from its tarball. If that is gone too (see `removeOldSources`), the answer is 400.
     * - The deployment's `latest_revision_id` stays the newest revision, so the client follows the requested
     *   revision. `active_revision_id` changes when it serves.
     * - It does not wait for the running job (see `planWork`). An unsettled revision goes on, as the newest request.
     * @throws HttpProblem 404; 400 for a revision that was never built, for one whose build and source have been
     * removed, or while the deployment is being deleted.
     */
    redeploy: async (caller: Caller, deploymentId: string, revisionId: string): Promise<void> => {
      await kysely.transaction().execute(async (trx) => {
        await findDeployment(trx, caller, deploymentId, { forChange: true });
        const revision = await findRevision(trx, deploymentId, revisionId);
        if (revision.built_at === null) {
          throw new HttpProblem(
            400,
            `Revision ID ${revisionId} was never built, so it cannot be deployed again.`,
          );
        }
        if (revision.agent_dir === null && (await isSourceRemoved(trx, revision))) {
          throw new HttpProblem(
            400,
            `Revision ID ${revisionId} cannot be deployed again: what was built of it and its uploaded source have ` +
              'been removed to make room for newer ones. Upload its source again as a new revision.',
          );
        }
        await requeueRevision(trx, revisionId, 'It was requested again.');
        await recordAudit(trx, caller, { deployment_id: deploymentId, revision_id: revisionId });
      });
      options.changed();
    },

    /**
     * Stops a revision that waits, is built or is deployed; the work on it ends right after. Neither the contract nor
     * the public API has such an endpoint, only the status. Decisions:
     * - The revision becomes `INTERRUPTED` at once, before its work has ended, so that a restart does not resume it.
     *   It can be redeployed later if it was built.
     * - If the active revision is being redeployed, it keeps serving and is `DEPLOYED` again.
     * - Interrupting an `INTERRUPTED` revision changes nothing.
     * - After traffic was switched to a revision, it can no longer be interrupted.
     * @throws HttpProblem 404; 409 for a revision that has ended otherwise; 400 while the deployment is being
     * deleted.
     */
    interrupt: async (caller: Caller, deploymentId: string, revisionId: string): Promise<Revision> => {
      const interrupted = await kysely.transaction().execute(async (trx) => {
        await findDeployment(trx, caller, deploymentId, { forChange: true });
        const revision = await findRevision(trx, deploymentId, revisionId);
        const status = await recordEnd(trx, revisionId, 'interrupted', 'It was interrupted on request.');
        if (status === undefined && revision.status !== 'INTERRUPTED') {
          const detail = `Revision ID ${revisionId} is ${revision.status}: there is nothing to interrupt.`;
          throw new HttpProblem(409, detail);
        }
        await recordAudit(trx, caller, { deployment_id: deploymentId, revision_id: revisionId });
        return revisionView(await findRevision(trx, deploymentId, revisionId));
      });
      options.interruptWork(revisionId);
      options.changed();
      return interrupted;
    },
  };
}

/** Revisions of a deployment of the caller's tenant, in one query. */
function selectRevisions(db: Kysely<Schema>, caller: Caller, deploymentId: string) {
  return db
    .selectFrom('revisions')
    .innerJoin('deployments', 'deployments.id', 'revisions.deployment_id')
    .selectAll('revisions')
    .where('revisions.deployment_id', '=', deploymentId)
    .where('deployments.tenant_id', '=', caller.tenantId);
}

/** Puts a revision at the end of the queue. If it is settled, it is deployed again. */
export async function requeueRevision(db: Kysely<Schema>, revisionId: string, reason: string): Promise<void> {
  const { rows } = await sql<{ next: string }>`select nextval('revision_requests') as next`.execute(db);
  const request = { requested_by: 'redeploy', requested: rows[0]?.next } as const;
  const set = { ...request, restarts: 0 };
  if ((await recordChange(db, { revisionId, event: 'redeployRequested', reason, set })) !== undefined) return;
  await db.updateTable('revisions').set(request).where('id', '=', revisionId).execute();
}

/** Whether a later request of the same deployment waits or is in progress: requeued now, a revision would skip it. */
export async function hasNewerRequest(
  db: Kysely<Schema>,
  { deployment_id: deploymentId, requested }: Pick<Selectable<RevisionsTable>, 'deployment_id' | 'requested'>,
): Promise<boolean> {
  const newer = await db
    .selectFrom('revisions')
    .select('id')
    .where('deployment_id', '=', deploymentId)
    .where('status', 'in', UNSETTLED_STATUSES)
    .where('requested', '>', requested)
    .executeTakeFirst();
  return newer !== undefined;
}

/** Whether a revision was made from an upload that has been removed. */
async function isSourceRemoved(db: Kysely<Schema>, revision: Selectable<RevisionsTable>): Promise<boolean> {
  const path = revision.source_revision_config['source_tarball_path'];
  if (typeof path !== 'string') return false;
  const upload = await db
    .selectFrom('uploads')
    .select('object_path')
    .where('object_path', '=', path)
    .executeTakeFirst();
  return upload === undefined;
}

async function findRevision(
  db: Kysely<Schema>,
  deploymentId: string,
  revisionId: string,
): Promise<Selectable<RevisionsTable>> {
  const row = await db
    .selectFrom('revisions')
    .selectAll()
    .where('id', '=', revisionId)
    .where('deployment_id', '=', deploymentId)
    .executeTakeFirst();
  if (row === undefined) throw revisionNotFound(revisionId);
  return row;
}

function revisionNotFound(revisionId: string): HttpProblem {
  return new HttpProblem(404, `Revision ID ${revisionId} not found.`);
}
