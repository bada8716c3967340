import {
  QueryNotRegisteredError,
  type WorkflowQueryInput,
  type WorkflowStartUpdateInput,
  type WorkflowStartUpdateOutput,
} from '@temporalio/client';
import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';

import { askAgain } from '../../../src/temporal/client/askAgain.ts';

it('repeats an update that the workflow has not seen, and no other one', async () => {
  const failing = (type: string): WorkflowStartUpdateOutput => ({
    ...ANSWERED,
    outcome: { failure: { applicationFailureInfo: { type } } },
  });
  const answers = [
    failing('UnprocessedUpdate'),
    failing('UnprocessedUpdate'),
    failing('SLIPWAY_TARGET_BUSY'),
  ];
  const { startUpdate } = askAgain({} as never, 'default');

  const answer = await startUpdate!({} as WorkflowStartUpdateInput, () => Promise.resolve(answers.shift()!));

  expect(answer).toEqual(failing('SLIPWAY_TARGET_BUSY'));
});

it('repeats a query while its workflow is rebuilt, and no other one', async () => {
  const messages = [
    'Missing associated machine for LocalActivity(2)',
    'Missing associated machine for Timer(2)',
  ];
  const describeWorkflowExecution = () => Promise.resolve({ workflowExecutionInfo: { status: 1 } });
  const { query } = askAgain({ describeWorkflowExecution } as never, 'default');

  const answer = query!({ workflowExecution: { workflowId: 'target' } } as WorkflowQueryInput, () =>
    Promise.reject(
      new QueryNotRegisteredError(`Nondeterminism error: ${messages.shift() ?? ''}`, status.INVALID_ARGUMENT),
    ),
  );

  await expect(answer).rejects.toThrow('Timer(2)');
});

const ANSWERED: WorkflowStartUpdateOutput = { updateId: 'update', workflowRunId: 'run' };
