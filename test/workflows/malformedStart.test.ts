import { randomUUID } from 'node:crypto';

import { WorkflowFailedError } from '@temporalio/client';
import { expect, it, onTestFinished } from 'vitest';

import { WORKFLOW_TYPES, type WorkflowName } from '../../src/messages/workflowTypes.ts';
import { openOwnHarness } from './projectHarness.ts';

/** They start without an input. */
const NEED_NONE: readonly string[] = ['target', 'deployment', 'promotionPlaces'] satisfies WorkflowName[];

it('a workflow that was started without the input that it needs fails at once, and says so', async () => {
  const { harness, taskQueue } = await openOwnHarness();
  onTestFinished(() => harness.close());
  const types = Object.values(WORKFLOW_TYPES).filter((type) => !NEED_NONE.includes(type));
  const failing = types.map(async (type) => {
    const started = {
      taskQueue,
      workflowId: `${type}:${randomUUID()}`,
      workflowRunTimeout: '20 seconds',
    } as const;
    const failure: unknown = await harness.client.workflow
      .execute(type, started)
      .catch((error: unknown) => error);
    const message = failure instanceof WorkflowFailedError ? failure.cause?.message : failure;
    expect(message).toContain(`the input is not that of a ${type}: `);
  });
  await Promise.all(failing);
});
