import { type Kysely, sql, type Transaction } from 'kysely';

import { recordAudit } from '../../access/audit.ts';
import { platformCaller } from '../../access/caller.ts';
import type { Schema } from '../../store/schema.ts';
import { insertRevision, latestRevisionConfig } from '../deploymentRows.ts';
import { type NamedRepository, repositoryOf } from '../integrations.ts';
import { isSettled } from '../revisionStates.ts';

/** A branch that a deployment follows: a push to it makes a revision (contract 000, "SourceConfig": `build_on_push`). */
export interface FollowedBranch {
  readonly deploymentId: string;
  readonly repository: NamedRepository;
  /** The `repo_ref`; null: the default branch. */
  readonly ref: string | null;
  readonly latestRevisionId: string | null;
  /** The commit of the branch's newest revision: how far it was followed, whatever was redeployed; null: none. */
  readonly commit: string | null;
  /** Whether the latest revision's commit is not known yet: it will be the branch's newest commit at that time. */
  readonly isCommitPending: boolean;
}

const ref = sql<string | null>`latest.source_revision_config ->> 'repo_ref'`;
const latestCommit = sql<string | null>`latest.source_revision_config ->> 'repo_commit_sha'`;
const newestBuiltCommit = sql<string | null>`(
  select made.source_revision_config ->> 'repo_commit_sha' from revisions made
  where made.deployment_id = deployments.id
    and made.source_revision_config ->> 'repo_commit_sha' is not null
    and (made.source_revision_config ->> 'repo_ref') is not distinct from ${ref}
  order by made.number desc limit 1)`;

/** The branches that deployments follow, all or those of one deployment or integration, ordered by deployment id. */
export async function followedBranches(
  db: Kysely<Schema>,
  { deploymentId, integrationId }: { deploymentId?: string; integrationId?: string } = {},
): Promise<FollowedBranch[]> {
  let select = db
    .selectFrom('deployments')
    .innerJoin('revisions as latest', 'latest.id', 'deployments.latest_revision_id')
    .select(['deployments.id', 'deployments.source_config', 'latest.id as latest_id', 'latest.status'])
    .select([ref.as('ref'), latestCommit.as('latest_commit'), newestBuiltCommit.as('commit')])
    .where('deployments.source', '=', 'repo_host')
    .where('deployments.status', '!=', 'AWAITING_DELETE')
    .where(sql<string>`deployments.source_config ->> 'build_on_push'`, '=', 'true')
    .orderBy('deployments.id');
  if (deploymentId !== undefined) select = select.where('deployments.id', '=', deploymentId);
  if (integrationId !== undefined) {
    select = select.where(sql<string>`deployments.source_config ->> 'integration_id'`, '=', integrationId);
  }
  const rows = await select.execute();
  return rows.flatMap((row): FollowedBranch[] => {
    const repository = repositoryOf(row.source_config);
    if (repository === undefined) return [];
    return [
      {
        deploymentId: row.id,
        repository,
        ref: row.ref,
        latestRevisionId: row.latest_id,
        commit: row.commit,
        isCommitPending: row.latest_commit === null && !isSettled(row.status),
      },
    ];
  });
}

/**
 * Follows a branch to a commit: creates the revision that is built from it. The deployment is locked until the
 * transaction ends. Several parties may see a push: a webhook, its repetition, a poll, the next process after a
 * kill. One creates the revision, and the others find it.
 * @param shouldFollow - decides from the branch's state under the lock.
 * @returns The new revision's id; undefined if none was created.
 */
export async function followBranch(
  trx: Transaction<Schema>,
  deploymentId: string,
  commit: string,
  shouldFollow: (branch: FollowedBranch) => boolean,
): Promise<string | undefined> {
  const row = await trx
    .selectFrom('deployments')
    .selectAll()
    .where('id', '=', deploymentId)
    .forUpdate()
    .executeTakeFirst();
  const [branch] = await followedBranches(trx, { deploymentId });
  if (row === undefined || branch === undefined || !shouldFollow(branch)) return undefined;
  const before = await latestRevisionConfig(trx, row);
  const updated = await insertRevision(trx, row, { ...before, repo_commit_sha: commit }, 'push');
  const { latest_revision_id: revision_id } = updated;
  const caller = platformCaller(row.tenant_id, 'build_on_push');
  await recordAudit(trx, caller, { deployment_id: deploymentId, revision_id }, 'buildOnPush');
  return revision_id;
}
