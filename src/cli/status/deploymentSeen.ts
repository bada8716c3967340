import { SlipwayError } from '../../domain/errors.ts';
import type { TargetSpec } from '../../domain/targetSpec.ts';
import type { CommandContext } from '../context.ts';
import type { DeploymentSeen } from '../events/status.ts';
import { findDeployment, withControlPlane } from '../targetAccess.ts';

/** Asks the control plane for a target's deployment; a sentence where that cannot be done from here. */
export async function seeDeployment(
  context: CommandContext,
  spec: TargetSpec,
): Promise<DeploymentSeen | string> {
  try {
    return await withControlPlane(context, spec, async (client) => {
      const { id, active_revision_id, latest_revision_id } = await findDeployment(client, spec);
      return {
        deploymentId: id,
        activeRevisionId: active_revision_id ?? null,
        latestRevisionId: latest_revision_id ?? null,
      };
    });
  } catch (error) {
    if (error instanceof SlipwayError) return error.message;
    throw error;
  }
}
