import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, expect, inject, it } from 'vitest';

import { connectTemporal, type TemporalConnection } from '../../../src/temporal/client/connection.ts';
import { setHold, submitRelease } from '../../../src/temporal/client/target/targetClient.ts';
import { temporalSettings } from '../../../src/temporal/client/temporalSettings.ts';
import { type Harness, openHarness } from '../harness.ts';
import { resetHoldingRecall } from '../moments.ts';

const taskQueue = `queue-${randomUUID()}`;
let temporal: TemporalConnection;
const nameWorld = () => `world-${randomUUID()}`;
let harness: Harness;

beforeAll(async () => {
  const [address, workflowBundle] = [inject('temporalAddress'), inject('workflowBundle')];
  const settings = { TEMPORAL_ADDRESS: address, SLIPWAY_TASK_QUEUE: taskQueue };
  temporal = await connectTemporal(await temporalSettings('', settings));
  harness = await openHarness({ address, workflowBundle, taskQueue, nameWorld });
});

afterAll(async () => {
  await harness.close();
  await temporal.close();
});

it('a command’s release and hold that meet a target just after a reset are taken once it has read its state', async () => {
  const { target } = harness.newServingTarget();
  await target.startOnly();
  const goOn = await resetHoldingRecall(target, 'last');
  const by = { who: 'ada', from: 'cli', reason: 'an incident' };
  const submitted = submitRelease(temporal, target.request('b'));
  const held = setHold(temporal, target.workflowId, true, by);
  goOn();
  expect(await held).toEqual({ onHold: true, via: 'update' });
  expect(await submitted).toMatchObject({ releaseId: 'release-1' });
});
