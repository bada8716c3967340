import type { WorkflowStartUpdateInput, WorkflowStartUpdateOutput } from '@temporalio/client';
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

const ANSWERED: WorkflowStartUpdateOutput = { updateId: 'update', workflowRunId: 'run' };
