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
  /** As `repo_ref` has it; null: the default branch. */
  readonly ref: string | null;
  readonly latestRevisionId: string | null;
  /**
   * The commit that the newest revision of this branch was made from, which is as far as the branch was followed; null
   * where no revision of it has one yet. A redeploy of an earlier revision changes nothing here.
   */
  readonly commit: string | null;
  /** Whether the latest revision has yet to find out its commit: it will take whatever the branch has then. */
  readonly isFindingOut: boolean;
}

const ref = sql<string | null>`latest.source_revision_config ->> 'repo_ref'`;
const latestCommit = sql<string | null>`latest.source_revision_config ->> 'repo_commit_sha'`;
const followedTo = sql<string | null>`(
  select made.source_revision_config ->> 'repo_commit_sha' from revisions made
  where made.deployment_id = deployments.id
    and made.source_revision_config ->> 'repo_commit_sha' is not null
    and (made.source_revision_config ->> 'repo_ref') is not distinct from ${ref}
  order by made.number desc limit 1)`;

/** The branches that deployments follow, all or those of one deployment or integration, in the order of the deployments' ids. */
export async function followedBranches(
  db: Kysely<Schema>,
  { deploymentId, integrationId }: { deploymentId?: string; integrationId?: string } = {},
): Promise<FollowedBranch[]> {
  let select = db
    .selectFrom('deployments')
    .innerJoin('revisions as latest', 'latest.id', 'deployments.latest_revision_id')
    .select(['deployments.id', 'deployments.source_config', 'latest.id as latest_id', 'latest.status'])
    .select([ref.as('ref'), latestCommit.as('latest_commit'), followedTo.as('commit')])
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
        isFindingOut: row.latest_commit === null && !isSettled(row.status),
      },
    ];
  });
}

/**
 * Follows a branch to a commit: makes the revision that is built from it. The deployment is locked until the
 * transaction ends, so of all who saw a push (a webhook, the same one again, a look at the repository, the next process
 * after one that was killed) one makes the revision, and the others find it made.
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
