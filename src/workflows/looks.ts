import type { Activities } from '../activities/activities.ts';
import type { ReleaseRequest } from '../domain/release.ts';
import { explain } from './failure.ts';
import { activitiesOf } from './steps.ts';

/** The active revision as the control plane says; `null` where there is none, `undefined` where it cannot be read. */
export async function readWhatServes(request: ReleaseRequest): Promise<string | null | undefined> {
  const { target: spec } = request;
  try {
    const { deployment } = await looks(request, 'look at what serves').findDeployment({ target: spec });
    return deployment?.activeRevisionId ?? null;
  } catch (error) {
    if (explain(error).canceled) throw error;
    return undefined;
  }
}

/** Why a revision that the target has never dealt with cannot be restored; `undefined`: the control plane has it. */
export async function whyNoRevision(
  request: ReleaseRequest,
  revisionId: string,
): Promise<string | undefined> {
  const { target: spec } = request;
  const activities = looks(request, `look for revision ${revisionId}`);
  try {
    const { deployment } = await activities.findDeployment({ target: spec });
    if (deployment === null) return `there is no deployment "${spec.deployment}" with a revision`;
    await activities.readRevision({ target: spec, deploymentId: deployment.deploymentId, revisionId });
    return undefined;
  } catch (error) {
    const { canceled, code, message } = explain(error);
    if (canceled) throw error;
    return code === 'SLIPWAY_NOT_FOUND' || code === 'SLIPWAY_REFUSED'
      ? 'the control plane has no revision'
      : `the control plane was asked in vain (${message}) for revision`;
  }
}

const LOOK_MS = 10_000;

/** A look takes no longer than a person waits. */
function looks(request: ReleaseRequest, what: string): Activities {
  const { steps } = request;
  return activitiesOf('find', { ...steps, find: { ...steps.find, scheduleToCloseMs: LOOK_MS } }, what);
}
