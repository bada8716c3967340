import { SlipwayError } from '../../domain/errors.ts';
import type { RevisionInput } from '../activities.ts';
import { callOptions } from '../callOptions.ts';
import type { Connections } from '../connections.ts';

/**
 * What is asked of an agent counts only when the revision that it is asked about is the active one, before and after
 * (design, rule 4).
 *
 * @throws SLIPWAY_NOT_SERVING where another one is active.
 */
export async function requireActive(
  connections: Connections,
  { target, deploymentId, revisionId }: RevisionInput,
): Promise<void> {
  const deployment = await connections.controlPlane(target).getDeployment(deploymentId, callOptions());
  if (deployment.active_revision_id === revisionId) return;
  throw new SlipwayError(
    'SLIPWAY_NOT_SERVING',
    `revision ${deployment.active_revision_id ?? 'none'} is active instead of ${revisionId}, so it does not count`,
  );
}
