import { rm } from 'node:fs/promises';

import type { Kysely } from 'kysely';

import { isSettled } from './revisionStates.ts';
import type { Schema } from '../store/schema.ts';
import { type HomeLayout, perDeployment } from './homeLayout.ts';
import { moveToTrash } from './trash.ts';

/** How many built revisions of a deployment stay on the disk, beside the active one and those in progress. */
const BUILDS_KEPT = 5;

/**
 * Removes old builds of a deployment: all but the newest {@link BUILDS_KEPT} built, the active one, and whatever is
 * not settled. Redeploying one builds it again, as long as its source is kept (`removeOldSources`).
 */
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
  const old = built.slice(BUILDS_KEPT).filter(({ id, status }) => id !== active && isSettled(status));
  for (const { id } of old) {
    // The row first: a directory without a row is rubbish, a row without a directory would be a lie.
    await kysely.updateTable('revisions').set({ agent_dir: null }).where('id', '=', id).execute();
    await rm(home.build(deploymentId, id), { recursive: true, force: true });
  }
}

/** Moves build directories that no revision knows to the trash: a process that was killed left them behind. */
export async function trashOrphanedBuilds(kysely: Kysely<Schema>, home: HomeLayout): Promise<void> {
  // The directories first: one that appears after the rows were read belongs to a build that has just begun.
  const found = await perDeployment(home.builds);
  const known = await kysely
    .selectFrom('revisions')
    .select(['id', 'deployment_id', 'status', 'agent_dir'])
    .execute();
  const kept = new Set(
    known
      .filter(({ status, agent_dir }) => agent_dir !== null || !isSettled(status))
      .map(({ id, deployment_id }) => home.build(deployment_id, id)),
  );
  for (const path of found) {
    if (!kept.has(path)) await moveToTrash(home, path);
  }
}
