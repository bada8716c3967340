import { sleep } from '@temporalio/workflow';

import { exactText, type Instant } from '../../domain/scalars.ts';
import type { PreviewRemoval, PreviewResult } from '../../domain/preview/preview.ts';
import type { StepOverrides } from '../../domain/step.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { explain, pipelineFailure } from '../failure.ts';
import { activitiesOf } from '../steps.ts';

interface Removed extends Pick<PreviewResult, 'removed'> {
  readonly note: string;
}

/** One attempt for each step: the preview itself retries with growing pauses, and shows the error. */
const ONCE: StepOverrides = {
  find: { startToCloseMs: 60_000, scheduleToCloseMs: 120_000, retry: { maximumAttempts: 1 } },
};

/** How often a removal polls until the deployment is gone, with pauses of 1 s to 30 s: about 4 min. */
const LOOKS = 12;

/**
 * Deletes the deployment of a preview, and then ends its target and releases its lock. Safe to repeat from the start.
 * @param before - the deployment that an earlier attempt found, whether a release was made on one, or until when one
 * may still appear.
 * @param note - called with what the attempt has found and done.
 * @throws ActivityFailure if an attempt failed; SLIPWAY_OUTCOME_UNKNOWN if a deployment may still appear.
 */
export async function removeDeployment(
  target: TargetSpec,
  before: { readonly deploymentId?: string; readonly wasMade: boolean; readonly mayAppearUntil?: Instant },
  note: (progress: Pick<PreviewRemoval, 'deploymentId' | 'deletes'>) => void,
): Promise<Removed> {
  const found = await find(target);
  if (found !== null) note({ deploymentId: found });
  const removed =
    found === null ? goneOf(target, before) : await remove(target, found, () => note({ deletes: true }));
  await activitiesOf('find', ONCE, 'end the target').endTarget({
    target,
    deploymentId: found ?? before.deploymentId ?? null,
    isDeleted: removed.removed !== 'parked',
  });
  return removed;
}

/** There is no deployment: an earlier attempt or a person deleted it, or none was made. */
function goneOf(
  { deployment }: TargetSpec,
  { deploymentId, wasMade, mayAppearUntil }: Parameters<typeof removeDeployment>[1],
): Removed {
  if (deploymentId !== undefined) return deleted(deployment);
  if (mayAppearUntil !== undefined && Date.now() < Date.parse(mayAppearUntil)) {
    const what = `the request to create the deployment ${deployment} was not answered`;
    throw pipelineFailure(
      'SLIPWAY_OUTCOME_UNKNOWN',
      `${what}; looking for it until ${exactText(mayAppearUntil)}`,
    );
  }
  return wasMade
    ? { removed: 'deleted', note: `the deployment ${deployment} was deleted already` }
    : { removed: 'never_made', note: 'there was no deployment' };
}

function deleted(deployment: string): Removed {
  return { removed: 'deleted', note: `the deployment ${deployment} was deleted` };
}

async function remove(target: TargetSpec, deploymentId: string, onDeleting: () => void): Promise<Removed> {
  const { deployment } = target;
  try {
    await activitiesOf('find', ONCE, `claim ${deployment}`).claimDeployment({ target, deploymentId });
  } catch (error) {
    if (explain(error).code !== 'SLIPWAY_DEPLOYMENT_OWNED') throw error;
    const note = `the deployment ${deployment} (${deploymentId}) belongs to another target, and stays`;
    return { removed: 'never_made', note };
  }
  const activities = activitiesOf('find', ONCE, `delete ${deployment}`);
  const { offered } = await activities
    .deleteDeployment({ target, deploymentId })
    .catch((error: unknown): never => {
      if (explain(error).mayHaveBeenTaken) onDeleting();
      throw error;
    });
  if (!offered) return park(target, deploymentId);
  onDeleting();
  for (let look = 0; look < LOOKS; look++) {
    if ((await find(target)) === null) return deleted(deployment);
    await sleep(Math.min(1_000 * 2 ** look, 30_000));
  }
  throw pipelineFailure('SLIPWAY_STEP_TIMED_OUT', `the deployment ${deployment} is still being deleted`);
}

/** Only deployments of images have resources that can be reduced (contract 000, "ResourceSpec"). */
async function park(target: TargetSpec, deploymentId: string): Promise<Removed> {
  const { deployment, source } = target;
  const isSmaller = source === 'external_image';
  if (isSmaller)
    await activitiesOf('find', ONCE, `park ${deployment}`).parkDeployment({ target, deploymentId });
  const kept = `the control plane offers no deletion, so the deployment ${deployment} (${deploymentId}) stays`;
  return {
    removed: 'parked',
    note: `${kept}${isSmaller ? ', with the smallest resources' : ''}: delete it by hand`,
  };
}

/** @returns the deployment's id. `null`: there is none, or the control plane cannot find one by name. */
async function find(target: TargetSpec): Promise<string | null> {
  try {
    const { deployment } = await activitiesOf('find', ONCE, `look for ${target.deployment}`).findDeployment({
      target,
    });
    return deployment?.deploymentId ?? null;
  } catch (error) {
    // If the control plane cannot list deployments, no release can have found or created one.
    if (explain(error).code === 'SLIPWAY_NOT_FOUND') return null;
    throw error;
  }
}
