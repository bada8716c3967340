import type { Transaction } from 'kysely';

import { recordAudit } from '../../access/audit.ts';
import { platformCaller } from '../../access/caller.ts';
import type { Schema } from '../../store/schema.ts';
import { insertRevision, latestRevisionConfig } from '../deploymentRows.ts';
import { type FollowedBranch, followedBranches } from './followedBranch.ts';

/**
 * Follows a branch to a commit: makes the revision that is built from it. The deployment is locked until the transaction
 * ends, so of all who saw a push (a webhook, the same one again, a look at the repository, the next process after one
 * that was killed) one makes the revision, and the others find it made.
 *
 * @param mayFollow - decides by what the branch is like when nobody else can change it any more.
 * @returns The new revision's id; undefined where there is none to be made.
 */
export async function followBranch(
  trx: Transaction<Schema>,
  deploymentId: string,
  commit: string,
  mayFollow: (branch: FollowedBranch) => boolean,
): Promise<string | undefined> {
  const row = await trx
    .selectFrom('deployments')
    .selectAll()
    .where('id', '=', deploymentId)
    .forUpdate()
    .executeTakeFirst();
  const [branch] = await followedBranches(trx, { deploymentId });
  if (row === undefined || branch === undefined || !mayFollow(branch)) return undefined;
  const before = await latestRevisionConfig(trx, row);
  const updated = await insertRevision(trx, row, { ...before, repo_commit_sha: commit }, 'push');
  const revisionId = updated.latest_revision_id ?? undefined;
  await recordAudit(
    trx,
    platformCaller(row.tenant_id, 'build_on_push'),
    { deployment_id: deploymentId, ...(revisionId !== undefined && { revision_id: revisionId }) },
    'buildOnPush',
  );
  return revisionId;
}
