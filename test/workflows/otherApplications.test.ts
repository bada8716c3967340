import { randomUUID } from 'node:crypto';

import { expect, inject, it, onTestFinished, vi } from 'vitest';

import { WORKFLOW_TYPES } from '../../src/messages/workflowTypes.ts';
import { connectTemporal } from '../../src/temporal/client/connection.ts';
import { eachRunning } from '../../src/temporal/client/listRunning.ts';
import { temporalSettings } from '../../src/temporal/client/temporalSettings.ts';

it('workflows of another application with types of the same names are not listed as Slipway’s', async () => {
  const taskQueue = `nobody-${randomUUID()}`;
  const settings = await temporalSettings('', { TEMPORAL_ADDRESS: inject('temporalAddress') });
  const temporal = await connectTemporal(settings);
  const { workflow } = temporal.client;
  const [ours, theirs] = [`target:${randomUUID()}`, `order-${randomUUID()}`];
  const handles = await Promise.all(
    [ours, theirs].map((workflowId) => workflow.start(WORKFLOW_TYPES.target, { workflowId, taskQueue })),
  );
  onTestFinished(async () => {
    await Promise.all(handles.map((handle) => handle.terminate()));
    await temporal.close();
  });
  const isListed = async (workflowId: string): Promise<void> => {
    const found = await workflow.count(`WorkflowId = '${workflowId}'`);
    expect(found.count).toBe(1);
  };
  await vi.waitFor(() => Promise.all([ours, theirs].map(isListed)), { timeout: 30_000 });
  const listed: string[] = [];
  for await (const { workflowId } of eachRunning(temporal, Object.values(WORKFLOW_TYPES), taskQueue))
    listed.push(workflowId);
  expect(listed).toEqual([ours]);
});
