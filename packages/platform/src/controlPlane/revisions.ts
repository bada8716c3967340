import type { Revision, RevisionsQuery } from '@slipway/contract/controlPlane/revision';
import { type Kysely, type Selectable, sql } from 'kysely';

import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { HttpProblem } from '../http/problem.ts';
import type { RevisionsTable, Schema } from '../store/schema.ts';
import { findDeployment, revisionView } from './deploymentRows.ts';
import { recordChange, recordEnd } from './revisionLedger.ts';
import { isSettled, type RevisionStatus } from './revisionStates.ts';

/**
 * Revisions: what their endpoints do. Every problem is an {@link HttpProblem}. As with deployments, another tenant's do
 * not exist to a caller.
 */
export type Revisions = ReturnType<typeof createRevisions>;

/** Makes {@link Revisions}; `changed` is called after each change that may need work. */
export function createRevisions(options: {
  kysely: Kysely<Schema>;
  changed: () => void;
  /** Ends the work on a revision. */
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
        // A word that is no status matches nothing.
        select = select.where('revisions.status', 'in', sql<RevisionStatus>`(${sql.join(asked)})`);
      }
      // See `RevisionsQuery`: everything is reconciled here.
      if (query.remote_reconciled === false) select = select.where(sql<boolean>`false`);
      const rows = await select.execute();
      // No row may mean no such deployment.
      if (rows.length === 0) await findDeployment(kysely, caller, deploymentId);
      return { resources: rows.map(revisionView), offset: query.offset + rows.length };
    },

    /**
     * Asks for an earlier revision again. Decisions, where the contract shows nothing:
     * - It is that same revision that is deployed again: its id stays, its status goes through `AWAITING_DEPLOY` and
     *   `DEPLOYING` to `DEPLOYED` once more, with the source, the secrets and the commands that it was created with.
     *   What was built is used again; if it is gone, it is built anew from its tarball. Where that is gone too (see
     *   `removeOldSources`), it is a 400.
     * - The deployment's `latest_revision_id` stays what it was, the newest revision: whoever redeploys follows the
     *   revision that was asked for. `active_revision_id` moves when it serves.
     * - It does not wait for what runs (see `planWork`). A revision that is on its way already is left alone.
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
        if (isSettled(revision.status)) await askAgain(trx, revisionId, 'It was asked for again.');
        await recordAudit(trx, caller, { deployment_id: deploymentId, revision_id: revisionId });
      });
      options.changed();
    },

    /**
     * Stops a revision that waits, is built or is deployed; the work on it ends right after. Neither the contract nor
     * its public relative has an endpoint for this, only the status; decisions:
     * - A revision that waits, is built or is being deployed becomes `INTERRUPTED` at once, before its work has ended,
     *   so that no restart takes it up again. It can be redeployed later, if it was built.
     * - The active revision that is on its way once more goes on serving as it did: it is `DEPLOYED` again.
     * - Interrupting an `INTERRUPTED` revision again changes nothing.
     * - Once traffic was switched to a revision, it cannot be interrupted any more.
     * @throws HttpProblem 404; 409 for a revision that has ended otherwise; 400 while the deployment is being deleted.
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

/** Puts a settled revision at the end of the queue, to be deployed again. */
export async function askAgain(db: Kysely<Schema>, revisionId: string, reason: string): Promise<void> {
  const { rows } = await sql<{ next: string }>`select nextval('revision_requests') as next`.execute(db);
  const [row] = rows;
  await recordChange(db, {
    revisionId,
    event: 'redeployRequested',
    reason,
    set: { requested_by: 'redeploy', restarts: 0, requested: row?.next },
  });
}

/** Whether a revision was made from an upload that is no longer kept. */
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
