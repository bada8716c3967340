import { createServer } from 'node:http2';

import {
  createEndpointHandler,
  handlers,
  RestatePromise,
  workflow,
  type WorkflowContext,
  type WorkflowSharedContext,
} from '@restatedev/restate-sdk';

import { awaitDeployed, check, confirm, find, list, patch, redeploy, upload } from '../calls.ts';
import type { Order, Outcome } from '../peer.ts';
import { ready, settingsOf } from '../processes.ts';

const HOUR_MS = 3_600_000;
const ROLLBACK = 'rollback';

/** Abort controllers that end the wait of each release in this process. */
const waiting = new Map<string, AbortController>();

const releases = workflow({
  name: 'releases',
  handlers: {
    run: release,
    rollBack: handlers.workflow.shared(async (context: WorkflowSharedContext) => {
      await context.promise<boolean>(ROLLBACK).resolve(true);
    }),
  },
  // A release polls within one step without a limit. Its journal is kept so that its entries can be counted.
  options: { inactivityTimeout: HOUR_MS, abortTimeout: HOUR_MS, journalRetention: HOUR_MS },
});

const server = createServer(createEndpointHandler({ services: [releases] }));
server.listen(settingsOf() as number, '127.0.0.1', ready);

/** One release: each step is a `run` with a journal entry. */
async function release(context: WorkflowContext, order: Order): Promise<Outcome> {
  await context.run('find', () => find(order));
  if (!order.isVerified) await context.run('baseline', () => check(order));
  const path = await context.run('upload', () => upload(order));
  const revisionId = await context.run('patch', () => patch(order, path));
  const rollback = context.promise<boolean>(ROLLBACK).get();
  const deployed = context.run('deployed', () => wait(order, revisionId)).map(() => false);
  if (await RestatePromise.race([rollback, deployed])) {
    waiting.get(order.id)?.abort();
    await restore(context, order);
    return 'rolled_back';
  }
  await context.run('serving', () => confirm(order, revisionId));
  await context.run('check', () => check(order));
  await context.run('record', () => list(order));
  return 'released';
}

async function restore(context: WorkflowContext, order: Order): Promise<void> {
  await context.run('find', () => find(order));
  await context.run('redeploy', () => redeploy(order));
  await context.run('restored', () => awaitDeployed(order, order.goodRevisionId));
  await context.run('serving', () => confirm(order, order.goodRevisionId));
  await context.run('check', () => check(order));
  await context.run('record', () => list(order));
}

/** Returns without an error when aborted: Restate would retry a step with an error. */
async function wait(order: Order, revisionId: string): Promise<void> {
  const rollback = new AbortController();
  waiting.set(order.id, rollback);
  try {
    await awaitDeployed(order, revisionId, rollback.signal);
  } catch (error) {
    if (!rollback.signal.aborted) throw error;
  } finally {
    waiting.delete(order.id);
  }
}
