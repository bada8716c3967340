import { randomUUID } from 'node:crypto';

import { expect, inject, it, onTestFinished, vi } from 'vitest';

import { WORKFLOW_TYPES } from '../../src/messages/workflowTypes.ts';
import { connectTemporal } from '../../src/temporal/client/connection.ts';
import { awaitRemoval } from '../../src/temporal/client/preview/previewClient.ts';
import { HistoryNews } from '../../src/temporal/client/release/historyNews.ts';
import { temporalSettings } from '../../src/temporal/client/temporalSettings.ts';

const { signal } = new AbortController();

/** Starts a workflow that no worker takes. Counts the reads of its history. */
async function waiting() {
  const settings = await temporalSettings('', { TEMPORAL_ADDRESS: inject('temporalAddress') });
  const temporal = await connectTemporal(settings);
  const { workflow, workflowService } = temporal.client;
  const workflowId = `preview:${randomUUID()}`;
  const options = { workflowId, taskQueue: `nobody-${randomUUID()}` };
  const handle = await workflow.start(WORKFLOW_TYPES.preview, options);
  onTestFinished(async () => {
    await handle.terminate();
    await temporal.close();
  });
  return { temporal, handle, reads: vi.spyOn(workflowService, 'getWorkflowExecutionHistory') };
}

it('waiting for the end of a preview takes one read, until the next one', async () => {
  const { temporal, handle, reads } = await waiting();
  expect(await awaitRemoval(temporal, handle.workflowId, 2_000, signal)).toBeUndefined();
  expect(reads).toHaveBeenCalledTimes(1);
});

it('waiting for news takes one read for the end, however many events come, and then one for the events', async () => {
  const { temporal, handle, reads } = await waiting();
  const news = new HistoryNews(temporal, handle.workflowId, 500);
  await news.wait(10_000, signal);
  const moved = news.wait(10_000, signal);
  for (const name of ['one', 'two', 'three']) await handle.signal(name);
  await moved;
  expect(reads).toHaveBeenCalledTimes(4);
});
