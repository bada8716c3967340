import { rm } from 'node:fs/promises';

import { type Kysely, sql } from 'kysely';

import type { Schema } from '../store/schema.ts';
import { type HomeLayout, moveToTrash, listPerDeployment } from './homeLayout.ts';
import { isSettled, UNSETTLED_STATUSES } from './revisionStates.ts';

/** How many built revisions of a deployment stay on disk, besides the active and the unsettled ones. */
const BUILDS_RETAINED = 5;

/** Removes a deployment's builds except the newest, the active and unsettled ones. A redeploy builds them again. */
export async function removeOldBuilds(
  kysely: Kysely<Schema>,
  home: HomeLayout,
  deploymentId: string,
): Promise<void> {
  const { active_revision_id: active } = await kysely
    .selectFrom('deployments')
    .select('active_revision_id')
    .where('id', '=', deploymentId)
    .executeTakeFirstOrThrow();
  const built = await kysely
    .selectFrom('revisions')
    .select(['id', 'status'])
    .where('deployment_id', '=', deploymentId)
    .where('agent_dir', 'is not', null)
    .orderBy(({ fn }) => fn.coalesce('deployed_at', 'built_at'), 'desc')
    .orderBy('number', 'desc')
    .execute();
  const old = built.slice(BUILDS_RETAINED).filter(({ id, status }) => id !== active && isSettled(status));
  for (const { id } of old) {
    // The row first: a directory without a row is garbage, but a row without a directory is inconsistent.
    const removed = await kysely
      .updateTable('revisions')
      .set({ agent_dir: null })
      .where('id', '=', id)
      // It may have been redeployed since it was read.
      .where('status', 'not in', UNSETTLED_STATUSES)
      .returning('id')
      .executeTakeFirst();
    if (removed !== undefined) await rm(home.build(deploymentId, id), { recursive: true, force: true });
  }
}

/** Moves build directories that no revision knows to the trash. A killed process may have left them. */
export async function trashOrphanedBuilds(kysely: Kysely<Schema>, home: HomeLayout): Promise<void> {
  // The directories first: one that appears after the rows were read belongs to a new build.
  const found = await listPerDeployment(home.builds);
  const known = await kysely
    .selectFrom('revisions')
    .select(['id', 'deployment_id', 'status', 'agent_dir'])
    .execute();
  const kept = new Set(
    known
      .filter(({ status, agent_dir }) => agent_dir !== null || !isSettled(status))
      .map(({ id, deployment_id }) => home.build(deployment_id, id)),
  );
  for (const path of found) if (!kept.has(path)) await moveToTrash(home, path);
}

const SOURCES_RETAINED = 20;

/** The object path of a revision's source, in SQL that has `revisions`. */
export const sourcePath = sql<string>`revisions.source_revision_config ->> 'source_tarball_path'`;

/**
 * Removes old uploaded sources of a deployment. It keeps the sources of
 * - the active revision and unsettled ones, which may have to be built at any moment;
 * - the latest revision, because a PATCH without a source carries it over;
 * - revisions whose build is kept, because a lost build is made again;
 * - the `kept` last requested revisions;
 * - the `kept` last deployed revisions, so that a series of failed releases does not remove the rollback's target.
 *
 * A redeploy of a revision without source and build answers 400. A PATCH no longer knows a removed object path.
 * Sources that no revision uses yet stay.
 */
export async function removeOldSources(
  kysely: Kysely<Schema>,
  home: HomeLayout,
  deploymentId: string,
  kept: number = SOURCES_RETAINED,
): Promise<void> {
  const removed = await kysely.transaction().execute(async (trx) => {
    // Every PATCH and redeploy takes the same lock, so either the source exists, or they report that it is gone.
    const deployment = await trx
      .selectFrom('deployments')
      .select(['active_revision_id', 'latest_revision_id'])
      .where('id', '=', deploymentId)
      .forUpdate()
      .executeTakeFirst();
    if (deployment === undefined) return [];
    const revisions = await trx
      .selectFrom('revisions')
      .innerJoin('uploads', (join) =>
        join
          .onRef('uploads.deployment_id', '=', 'revisions.deployment_id')
          .on(sql<boolean>`uploads.object_path = ${sourcePath}`),
      )
      .select([
        'revisions.id',
        'revisions.status',
        'revisions.agent_dir',
        'revisions.deployed_at',
        'uploads.object_path',
      ])
      .where('revisions.deployment_id', '=', deploymentId)
      .orderBy('revisions.requested', 'desc')
      .execute();
    const lastDeployed = revisions
      .filter(({ deployed_at }) => deployed_at !== null)
      .sort((a, b) => Number(b.deployed_at) - Number(a.deployed_at));
    const needed = [
      ...revisions.slice(0, kept),
      ...lastDeployed.slice(0, kept),
      ...revisions.filter(
        ({ id, status, agent_dir }) =>
          id === deployment.active_revision_id ||
          id === deployment.latest_revision_id ||
          agent_dir !== null ||
          !isSettled(status),
      ),
    ];
    const keptPaths = new Set(needed.map(({ object_path }) => object_path));
    const old = new Set(
      revisions.map(({ object_path }) => object_path).filter((path) => !keptPaths.has(path)),
    );
    if (old.size > 0)
      await trx
        .deleteFrom('uploads')
        .where('object_path', 'in', [...old])
        .execute();
    return [...old];
  });
  // The row first: a file without a row is garbage, but a row without a file is inconsistent.
  for (const path of removed) await rm(home.object(path), { force: true });
}

/** Moves uploaded sources that no row knows to the trash. A killed process may have left them. */
export async function trashOrphanedSources(kysely: Kysely<Schema>, home: HomeLayout): Promise<void> {
  // The files first: a file that appears after the rows were read has had a row since before its upload.
  const found = await listPerDeployment(home.objects);
  const known = await kysely.selectFrom('uploads').select('object_path').execute();
  const kept = new Set(known.map(({ object_path }) => home.object(object_path)));
  for (const file of found) if (!kept.has(file)) await moveToTrash(home, file);
}
