import { CancellationScope, condition } from '@temporalio/workflow';

import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import type { Journal } from '../journal.ts';
import { activitiesOf } from '../steps.ts';

/**
 * The lock of one deployment: `deployment:ID`. Its memo names the target that owns it
 * (`activities/deployment/lockActivities.ts`). While it is open, no other target changes the deployment. It is
 * started with a delay of 100 years, so it never runs and costs a worker nothing.
 */
export async function deployment(): Promise<void> {
  await CancellationScope.nonCancellable(() => condition(() => false));
}

/**
 * Makes sure that the target owns the deployment's lock before the release changes anything. Otherwise two targets
 * that spell one control plane's address differently would release to one deployment at the same time.
 * @param owned - the deployment whose lock the target owns already.
 * @throws SLIPWAY_DEPLOYMENT_OWNED if another target owns it.
 */
export async function claimDeployment(
  { overrides }: Journal,
  target: TargetSpec,
  deploymentId: string,
  owned: string | undefined,
): Promise<void> {
  if (deploymentId === owned) return;
  await activitiesOf('find', overrides, 'claim the deployment').claimDeployment({ target, deploymentId });
}
