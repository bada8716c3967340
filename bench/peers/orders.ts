import { randomUUID } from 'node:crypto';

import type { Behavior, StandIn, StandInDeployment } from '../standIn.ts';
import type { Order } from './peer.ts';

/** An order and its deployment. */
export interface Placed {
  readonly order: Order;
  readonly deployment: StandInDeployment;
}

/**
 * Creates an order with its own deployment.
 * @param deploysAfterMs - how long after its PATCH the revision is deployed.
 */
export function placeOrder(
  standIn: StandIn,
  behavior: Behavior = 'answers rightly',
  deploysAfterMs = 0,
): Placed {
  const deployment = standIn.deploy(`bench-${randomUUID()}`, behavior);
  deployment.deploysAfterMs = deploysAfterMs;
  const { id: deploymentId, name, good: goodRevisionId } = deployment;
  return { order: { id: randomUUID(), url: standIn.url, name, deploymentId, goodRevisionId }, deployment };
}
