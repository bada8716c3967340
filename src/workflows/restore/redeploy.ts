import type { Activities, DeploymentInput } from '../../activities/activities.ts';
import type { DeploymentSnapshot } from '../../domain/deployment/revision.ts';
import { stepPolicy } from '../../domain/stepTable.ts';
import type { Journal } from '../journal.ts';
import { sendAtMostOnce } from '../sendAtMostOnce.ts';
import { activitiesOf } from '../steps.ts';

interface RedeployOrder extends DeploymentInput {
  /** The upload path that the release shipped: a revision that carries it is not the result of a redeploy. */
  readonly shippedPath: string | null;
}

/**
 * Redeploys a revision.
 * @returns the revision to follow, which is the new one if the redeploy made one, else the requested one (design,
 * rule 3). Also the revisions that were active and the latest before.
 */
export async function redeploy(
  journal: Journal,
  { target, deploymentId, shippedPath }: RedeployOrder,
  revisionId: string,
): Promise<{
  readonly revisionId: string;
  readonly activeBefore: string | null;
  readonly latestBefore: string | null;
}> {
  const policy = stepPolicy('redeploy', journal.overrides);
  // A failed read fails the redeploy, so reads are retried for as long as the redeploy itself.
  const { scheduleToCloseMs } = policy;
  const patient = { ...journal.overrides, find: { ...journal.overrides.find, scheduleToCloseMs } };
  const reads = activitiesOf('find', patient, 'read the deployment');
  return journal.step('redeploy', revisionId, async (activities) => {
    const { deployment: before } = await reads.readDeployment({ target, deploymentId });
    const madeBy = (now: DeploymentSnapshot): string | undefined => {
      const { latestRevisionId, latestTarballPath } = now;
      if (latestRevisionId === null || latestRevisionId === before.latestRevisionId) return undefined;
      const landedLate = shippedPath !== null && latestTarballPath === shippedPath;
      return landedLate ? undefined : latestRevisionId;
    };
    const { result, attempts } = await sendAtMostOnce({
      what: 'the redeploy',
      send: async () => {
        const { deployment } = await activities.redeployRevision({ target, deploymentId, revisionId });
        return madeBy(deployment) ?? revisionId;
      },
      settle: async () => {
        const { deployment } = await reads.readDeployment({ target, deploymentId });
        const made = madeBy(deployment);
        if (made !== undefined && (await isCopy(reads, { target, deploymentId }, made, revisionId)))
          return made;
        const moved = before.activeRevisionId !== revisionId && deployment.activeRevisionId === revisionId;
        return moved ? revisionId : undefined;
      },
      // No need to know whether an unanswered attempt was applied: redeploying a revision twice has the same effect
      // as once.
      policy,
      onFailure: (found) => journal.note({ found }),
      abandoned: () => false,
    });
    const { activeRevisionId: activeBefore, latestRevisionId: latestBefore } = before;
    return {
      result: { revisionId: result, activeBefore, latestBefore },
      attempt: attempts,
      detail: `following ${result}`,
    };
  });
}

/**
 * Whether an unanswered redeploy of `of` made the revision `made`: both carry the same upload path. If not, another
 * client changed the deployment at the same time. Images and git refs carry no path, so there any new revision counts
 * as the copy.
 */
async function isCopy(
  reads: Activities,
  { target, deploymentId }: DeploymentInput,
  made: string,
  of: string,
): Promise<boolean> {
  const copy = await reads.readRevision({ target, deploymentId, revisionId: made, isNew: true });
  const original = await reads.readRevision({ target, deploymentId, revisionId: of });
  return copy.revision.tarballPath === original.revision.tarballPath;
}
