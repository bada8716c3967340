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

/** The limit for this read, in milliseconds. After that the worker reads it instead. */
const READ_MS = 2_000;

/** The active revision, which the person wants to leave; `undefined`: none, no key, or no answer in time. */
export function readWhatServes(machine: Machine, target: TargetSpec): Promise<string | undefined> {
  const signal = AbortSignal.timeout(READ_MS);
  return withControlPlane(machine, target, async (client) => {
    const { active_revision_id: active } = await findDeployment(client, target, { signal });
    return active ?? undefined;
  }).catch(onSlipwayError(() => undefined));
}
