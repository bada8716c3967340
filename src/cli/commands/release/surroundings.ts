import { ServiceError } from '../../../clients/serviceError.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { type TargetSpec, targetWorkflowId } from '../../../domain/target/targetSpec.ts';
import { EMPTY_TARGET } from '../../../domain/target/targetState.ts';
import { viewTarget } from '../../../temporal/client/target/targetClient.ts';
import { requireWorker } from '../../../temporal/client/workerPresence.ts';
import type { CommandContext } from '../../context.ts';
import { openTemporal } from '../../openTemporal.ts';
import { type Deployment, findDeployment, withControlPlane } from '../target/targetAccess.ts';

/** A target's own word of itself. */
export type TargetView = NonNullable<Awaited<ReturnType<typeof viewTarget>>>;

/** A target that has never taken a release. */
const NEW_TARGET: TargetView = { state: EMPTY_TARGET, running: null };

/** A target's own word; an error where it cannot be asked: Temporal is away, or no worker answers. */
export async function askTarget(
  context: CommandContext,
  spec: TargetSpec,
): Promise<TargetView | SlipwayError> {
  try {
    const temporal = await openTemporal(context);
    try {
      const view = await viewTarget(temporal, targetWorkflowId(spec));
      if (view !== undefined) return view;
      // A release of a new target needs a worker, too.
      await requireWorker(temporal);
      return NEW_TARGET;
    } finally {
      await temporal.close();
    }
  } catch (error) {
    return asAnswer(error);
  }
}

/** A target's deployment; `null` where there is none yet, an error where the control plane did not answer. */
export async function askDeployment(
  context: CommandContext,
  spec: TargetSpec,
): Promise<Deployment | null | SlipwayError> {
  try {
    return await withControlPlane(context, spec, (client) => findDeployment(client, spec));
  } catch (error) {
    // It was asked, and has none of that name.
    const isMissing = error instanceof SlipwayError && error.code === 'SLIPWAY_NOT_FOUND';
    return isMissing && !(error instanceof ServiceError) ? null : asAnswer(error);
  }
}

function asAnswer(error: unknown): SlipwayError {
  if (error instanceof SlipwayError) return error;
  throw error;
}
