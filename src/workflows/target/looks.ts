import type { Activities } from '../../activities/activities.ts';
import type { DeploymentSnapshot } from '../../domain/deployment/revision.ts';
import type { ReleaseRequest } from '../../domain/release/release.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { explain } from '../failure.ts';
import { Settings } from '../restore/settings.ts';
import { activitiesOf } from '../steps.ts';

/** Reads the active revision from the control plane; `null` if there is none, `undefined` if it cannot be read. */
export async function readWhatServes(request: ReleaseRequest): Promise<string | null | undefined> {
  const deployment = await lookAtDeployment(request, LOOK_MS, null);
  return deployment === undefined ? undefined : (deployment?.activeRevisionId ?? null);
}

/**
 * Reads the deployment from the control plane; `null` if there is none, `undefined` if it cannot be read.
 * @param lastGood - the last settings that worked, to use first. `null`: use only those of the request.
 */
export async function lookAtDeployment(
  request: ReleaseRequest,
  withinMs: number,
  lastGood: TargetSpec | null,
): Promise<DeploymentSnapshot | null | undefined> {
  const activities = looks(request, 'look at what serves', withinMs);
  try {
    const { deployment } = await new Settings(lastGood, request.target).under((target) =>
      activities.findDeployment({ target }),
    );
    return deployment;
  } catch (error) {
    if (explain(error).canceled) throw error;
    return undefined;
  }
}

/** Why a revision that is unknown to the target cannot be restored; `undefined` if the control plane has it. */
export async function whyNoRevision(
  request: ReleaseRequest,
  lastGood: TargetSpec | null,
  revisionId: string,
): Promise<string | undefined> {
  const settings = new Settings(lastGood, request.target);
  const activities = looks(request, `look for revision ${revisionId}`, LOOK_MS);
  try {
    const { deployment } = await settings.under((target) => activities.findDeployment({ target }));
    if (deployment === null) return `there is no deployment "${request.target.deployment}" with a revision`;
    const { deploymentId } = deployment;
    await activities.readRevision({ target: settings.current, deploymentId, revisionId });
    return undefined;
  } catch (error) {
    const { canceled, code, message } = explain(error);
    if (canceled) throw error;
    return code === 'SLIPWAY_NOT_FOUND' || code === 'SLIPWAY_REFUSED'
      ? 'the control plane has no revision'
      : `the control plane was asked in vain (${message}) for revision`;
  }
}

/** How long a rollback waits to read what serves, in milliseconds. The command waits 5 s for the answer. */
export const ROLLBACK_LOOK_MS = 3_000;
const LOOK_MS = 10_000;

function looks({ steps }: ReleaseRequest, what: string, scheduleToCloseMs: number): Activities {
  const overrides = { ...steps, find: { ...steps.find, scheduleToCloseMs } };
  return activitiesOf('find', overrides, what, { neverLocal: true });
}
