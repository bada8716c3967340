import { randomUUID } from 'node:crypto';

import type { Behavior, StandIn, StandInDeployment } from '../standIn.ts';
import type { Order } from './peer.ts';

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
  return { order: orderOn(standIn, deployment, false), deployment };
}

/** Creates an order on a deployment. @param isVerified - whether it has had a release. */
export function orderOn(
  { url }: StandIn,
  { id: deploymentId, name, good: goodRevisionId }: StandInDeployment,
  isVerified: boolean,
): Order {
  return { id: randomUUID(), url, name, deploymentId, goodRevisionId, isVerified };
}
