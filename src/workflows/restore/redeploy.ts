import type { Activities, DeploymentInput } from '../../activities/activities.ts';
import type { DeploymentSnapshot } from '../../domain/deployment/revision.ts';
import type { Journal } from '../journal.ts';
import { sendAtMostOnce } from '../sendAtMostOnce.ts';
import { activitiesOf, stepPolicy } from '../steps.ts';

/** Where a revision is redeployed. */
interface RedeployOrder extends DeploymentInput {
  /** The upload path that the release shipped: a revision that carries it was made by no redeploy. */
  readonly shippedPath: string | null;
}

/**
 * Redeploys a revision.
 *
 * @returns the revision to follow: a new one where the redeploy made one, else the one asked for (design, rule 3); and
 *   which one was active before.
 */
export async function redeploy(
  journal: Journal,
  { target, deploymentId, shippedPath }: RedeployOrder,
  revisionId: string,
): Promise<{ readonly revisionId: string; readonly activeBefore: string | null }> {
  const policy = stepPolicy('redeploy', journal.overrides);
  // Giving up on a read is giving up on the redeploy: it is tried for as long.
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
      // "Not carried out" is enough here: redeploying the same revision twice leaves the deployment where once does.
      policy,
      abandoned: () => false,
    });
    const { activeRevisionId: activeBefore } = before;
    return { result: { revisionId: result, activeBefore }, attempt: attempts, detail: `following ${result}` };
  });
}

/**
 * Whether a revision that came after a redeploy without an answer was made of the one that was asked for: it carries the
 * same upload. Otherwise it is somebody else's, who changed the deployment at the same time. An image or a git ref carries
 * none: there, whatever came after is taken for the copy.
 */
async function isCopy(
  reads: Activities,
  { target, deploymentId }: DeploymentInput,
  made: string,
  of: string,
): Promise<boolean> {
  const read = (revisionId: string) => reads.readRevision({ target, deploymentId, revisionId });
  const [copy, original] = [await read(made), await read(of)];
  return copy.revision.tarballPath === original.revision.tarballPath;
}
