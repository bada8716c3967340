import { ApplicationFailure, WorkflowUpdateFailedError } from '@temporalio/client';
import { expect, it } from 'vitest';

import { refusal } from '../../../src/temporal/client/ask.ts';

it.each([
  ['SLIPWAY_WRONG_MOMENT', 'SLIPWAY_WRONG_MOMENT', 'slipway status'],
  ['SLIPWAY_REFUSED', 'SLIPWAY_USAGE', 'slipway history'],
])('a message that the target rejects with %s names the next command', (type, code, command) => {
  const cause = ApplicationFailure.nonRetryable('the promotion is not paused', type);
  const error = refusal(new WorkflowUpdateFailedError('rejected', cause));
  expect(error).toMatchObject({ code, message: expect.stringContaining('not paused') as string });
  expect(error?.hint).toContain(command);
});
