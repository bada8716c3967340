import { CancellationScope, condition } from '@temporalio/workflow';

import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import type { Journal } from '../journal.ts';
import { activitiesOf } from '../steps.ts';

/**
 * The lock of one deployment: `deployment:ID`. Its memo names the target that owns it (`activities/deployment/lockActivities.ts`),
 * and while it is open no other target changes the deployment. It is started with a delay that nobody lives to see the end of, so it
 * never runs and costs no worker anything.
 */
export async function deployment(): Promise<void> {
  await CancellationScope.nonCancellable(() => condition(() => false));
}

/**
 * Makes sure that the target owns the lock of the deployment, before anything is changed: two targets with different
 * addresses of one control plane would otherwise release there side by side.
 *
 * @param owned - the deployment whose lock the target owns already.
 * @throws SLIPWAY_DEPLOYMENT_OWNED where another target owns it.
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
