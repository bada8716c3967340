// The bare script: the calls one after another, nothing stored.
import { awaitDeployed, check, confirm, find, list, patch, redeploy, upload } from '../calls.ts';
import type { Order, Outcome } from '../peer.ts';
import { ready } from '../processes.ts';
import { serve } from '../remote.ts';

export interface BareScript {
  release(order: Order): Promise<Outcome>;
  rollBack(order: Order): Promise<void>;
}

/** Abort controllers that end each release's wait for its revision. */
const waiting = new Map<string, AbortController>();

serve<BareScript>({ release, rollBack });
ready();

async function release(order: Order): Promise<Outcome> {
  await find(order);
  if (!order.isVerified) await check(order);
  const revisionId = await patch(order, await upload(order));
  const rollback = new AbortController();
  waiting.set(order.id, rollback);
  try {
    await awaitDeployed(order, revisionId, rollback.signal);
  } catch (error) {
    if (!rollback.signal.aborted) throw error;
    await restore(order);
    return 'rolled_back';
  } finally {
    waiting.delete(order.id);
  }
  await confirm(order, revisionId);
  await check(order);
  await list(order);
  return 'released';
}

async function restore(order: Order): Promise<void> {
  await find(order);
  await redeploy(order);
  await awaitDeployed(order, order.goodRevisionId);
  await confirm(order, order.goodRevisionId);
  await check(order);
  await list(order);
}

function rollBack({ id }: Order): Promise<void> {
  waiting.get(id)?.abort();
  return Promise.resolve();
}
