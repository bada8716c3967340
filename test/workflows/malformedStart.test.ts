import { randomUUID } from 'node:crypto';

import { Connection, WorkflowFailedError } from '@temporalio/client';
import { expect, inject, it, onTestFinished } from 'vitest';

import { WORKFLOW_TYPES, type WorkflowName } from '../../src/messages/workflowTypes.ts';
import { createClient } from '../../src/temporal/client/connection.ts';
import { openOwnHarness } from './projectHarness.ts';

/** They start without an input. */
const NEED_NONE: readonly string[] = ['target', 'deployment', 'promotionPlaces'] satisfies WorkflowName[];

it('a workflow that was started without the input that it needs fails at once, and says so', async () => {
  const { harness, taskQueue } = await openOwnHarness();
  const { connection, workflow } = createClient(
    await Connection.connect({ address: inject('temporalAddress') }),
  );
  onTestFinished(async () => {
    await harness.close();
    await connection.close();
  });
  const types = Object.values(WORKFLOW_TYPES).filter((type) => !NEED_NONE.includes(type));
  const failing = types.map(async (type) => {
    const started = {
      taskQueue,
      workflowId: `${type}:${randomUUID()}`,
      workflowRunTimeout: '20 seconds',
    } as const;
    const failure: unknown = await workflow.execute(type, started).catch((error: unknown) => error);
    const message = failure instanceof WorkflowFailedError ? failure.cause?.message : failure;
    expect(message).toContain(`the input is not that of a ${type}: `);
  });
  await Promise.all(failing);
});
