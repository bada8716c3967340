import { DBOS } from '@dbos-inc/dbos-sdk';

import { awaitDeployed, check, confirm, find, list, patch, redeploy, upload } from '../calls.ts';
import type { Order, Outcome } from '../peer.ts';
import { ready, settingsOf } from '../processes.ts';
import { serve } from '../remote.ts';

/** The API that an application on DBOS would offer. */
export interface DbosApplication {
  /** Starts the release, or joins the one with that id. Resolves when it has ended. */
  release(order: Order): Promise<Outcome>;
  rollBack(order: Order): Promise<void>;
}

/** Abort controllers that end the wait of each release in this process. */
const waiting = new Map<string, AbortController>();

const releases = DBOS.registerWorkflow(release, { name: 'release' });
const restores = DBOS.registerWorkflow(restore, { name: 'restore' });
// The same version after a restart: otherwise DBOS would not continue a killed worker's workflows.
const version = { applicationVersion: 'bench', executorID: 'bench' };
DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: settingsOf() as string,
  logLevel: 'error',
  runAdminServer: false,
  ...version,
});
await DBOS.launch();
serve<DbosApplication>({
  release: async (order) => (await DBOS.startWorkflow(releases, { workflowID: order.id })(order)).getResult(),
  rollBack: async (order) => {
    await DBOS.startWorkflow(restores, { workflowID: `${order.id}-restore` })(order);
  },
});
ready();

/** One release: each step is a step of DBOS, with a row for its result. */
async function release(order: Order): Promise<Outcome> {
  await step('find', () => find(order));
  if (!order.isVerified) await step('baseline', () => check(order));
  const path = await step('upload', () => upload(order));
  const revisionId = await step('patch', () => patch(order, path));
  await step('deployed', () => wait(order, revisionId));
  await step('serving', () => confirm(order, revisionId));
  await step('check', () => check(order));
  await step('record', () => list(order));
  return 'released';
}

/** A rollback: cancels the release, and restores the good revision. */
async function restore(order: Order): Promise<void> {
  await DBOS.cancelWorkflow(order.id);
  waiting.get(order.id)?.abort();
  await step('find', () => find(order));
  await step('redeploy', () => redeploy(order));
  await step('deployed', () => awaitDeployed(order, order.goodRevisionId));
  await step('serving', () => confirm(order, order.goodRevisionId));
  await step('check', () => check(order));
  await step('record', () => list(order));
}

async function wait(order: Order, revisionId: string): Promise<void> {
  const rollback = new AbortController();
  waiting.set(order.id, rollback);
  await awaitDeployed(order, revisionId, rollback.signal).finally(() => waiting.delete(order.id));
}

function step<T>(name: string, run: () => Promise<T>): Promise<T> {
  return DBOS.runStep(run, { name });
}
