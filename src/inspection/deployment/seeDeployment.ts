import { onSlipwayError } from '../../domain/errors.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { findDeployment, type Machine, withControlPlane } from './deploymentAccess.ts';

/** A deployment as the control plane describes it. */
export interface DeploymentSeen {
  readonly deploymentId: string;
  /** The revision that serves. `null`: none. */
  readonly activeRevisionId: string | null;
  /** The newest revision, which may not be the one that serves. */
  readonly latestRevisionId: string | null;
}

/** Reads a target's deployment from the control plane; a sentence if that is not possible from here. */
export function seeDeployment(machine: Machine, spec: TargetSpec): Promise<DeploymentSeen | string> {
  return withControlPlane(machine, spec, async (client) => {
    const { id, active_revision_id, latest_revision_id } = await findDeployment(client, spec);
    return {
      deploymentId: id,
      activeRevisionId: active_revision_id ?? null,
      latestRevisionId: latest_revision_id ?? null,
    };
  }).catch(onSlipwayError(({ message }) => message));
}
