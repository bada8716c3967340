import {
  CancellationScope,
  condition,
  defineSignal,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
} from '@temporalio/workflow';

import type { Order, Outcome } from '../peer.ts';
import type * as activities from './activities.ts';
import type { Variant } from './variant.ts';

export const rollbackSignal = defineSignal('rollback');

type Activities = typeof activities;

const steps = proxyActivities<Activities>({ startToCloseTimeout: '30 seconds' });
const polls = proxyActivities<Activities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '5 seconds',
  cancellationType: 'TRY_CANCEL',
});
const local = proxyLocalActivities<Activities>({ startToCloseTimeout: '5 seconds' });

/** One release: each step is an activity. */
export async function release(order: Order, variant: Variant): Promise<Outcome> {
  const reads = variant === 'local' ? local : steps;
  let rollback = false;
  setHandler(rollbackSignal, () => void (rollback = true));
  await reads.find(order);
  if (!order.isVerified) await reads.check(order);
  const revisionId = await steps.patch(order, await steps.upload(order));
  const deployed = await unless(
    () => rollback,
    () => polls.awaitDeployed(order, revisionId),
  );
  if (!deployed) await steps.find(order).then(() => steps.redeploy(order));
  const serving = deployed ? revisionId : order.goodRevisionId;
  if (!deployed) await polls.awaitDeployed(order, serving);
  await reads.confirm(order, serving);
  await reads.check(order);
  await reads.list(order);
  return deployed ? 'released' : 'rolled_back';
}

/** Runs something until it ends or `givenUp` holds. @returns whether it ended. */
async function unless(givenUp: () => boolean, run: () => Promise<void>): Promise<boolean> {
  const scope = new CancellationScope();
  const running = scope.run(run).then(
    () => true,
    (error: unknown) => {
      if (isCancellation(error)) return false;
      throw error;
    },
  );
  void condition(givenUp).then(() => scope.cancel());
  return running;
}
