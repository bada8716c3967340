import { Context, heartbeat } from '@temporalio/activity';

import { awaitDeployed as poll } from '../calls.ts';
import type { Order } from '../peer.ts';

export { check, confirm, find, list, patch, redeploy, upload } from '../calls.ts';

/** Polls until the revision is deployed, with a heartbeat at each poll. */
export async function awaitDeployed(order: Order, revisionId: string): Promise<void> {
  await poll(order, revisionId, Context.current().cancellationSignal, heartbeat);
}
