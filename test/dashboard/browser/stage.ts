import { randomUUID } from 'node:crypto';

import { DefaultLogger, Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, inject } from 'vitest';

import type { SignIn } from '../../../src/dashboard/access/accessSettings.ts';
import { startTemporalServer } from '../../support/temporalServer.ts';
import { type Harness, openHarness } from '../../workflows/harness.ts';
import { HooksUnderTest } from '../../workflows/hooks/hooksUnderTest.ts';
import { PromotionsUnderTest } from '../../workflows/promotion/promotionsUnderTest.ts';
import { DashboardUnderTest } from './dashboardUnderTest.ts';

/** Targets on a Temporal of their own, because the page shows all targets of a Temporal, and a dashboard of them. */
export interface Stage {
  readonly harness: Harness;
  readonly promotions: PromotionsUnderTest;
  readonly hooks: HooksUnderTest;
  readonly dashboard: DashboardUnderTest;
  close(): Promise<void>;
}

/** @param signIn - how people sign in. Default: no sign-in; the user is grace. */
export async function openStage(signIn?: SignIn): Promise<Stage> {
  if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
  const server = await startTemporalServer();
  const id = randomUUID();
  const { address } = server;
  const taskQueue = `queue-${id}`;
  const harness = await openHarness({
    address,
    workflowBundle: inject('workflowBundle'),
    taskQueue,
    nameWorld: (number) => `world-${id.slice(0, 8)}-${number}`,
  });
  const promotions = new PromotionsUnderTest(harness);
  const hooks = new HooksUnderTest(harness);
  const dashboard = await DashboardUnderTest.open(address, taskQueue, signIn);
  return {
    harness,
    promotions,
    hooks,
    dashboard,
    close: async () => {
      await dashboard.close();
      await hooks.terminate();
      await harness.close();
      await server.close();
    },
  };
}

/** Opens a stage for all tests of a `describe`. */
export function useStage(signIn?: SignIn): () => Stage {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(signIn);
  });
  afterAll(() => stage.close());
  return () => stage;
}
