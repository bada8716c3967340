import {
  ApplicationFailure,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { expect, it } from 'vitest';

import { ask, refusal } from '../../../src/temporal/client/ask.ts';
import { holdSignal, holdUpdate } from '../../../src/messages/target.ts';
import { answeringTemporal, grpcError } from './answeringTemporal.ts';

it.each([
  ['SLIPWAY_WRONG_MOMENT', 'SLIPWAY_WRONG_MOMENT', 'slipway status'],
  ['SLIPWAY_REFUSED', 'SLIPWAY_USAGE', 'slipway history'],
])('a message that the target rejects with %s names the next command', (type, code, command) => {
  const cause = ApplicationFailure.nonRetryable('the promotion is not paused', type);
  const error = refusal(new WorkflowUpdateFailedError('rejected', cause));
  expect(error).toMatchObject({ code, message: expect.stringContaining('not paused') as string });
  expect(error?.hint).toContain(command);
});

it('a message that no worker takes before Temporal goes away may still happen, and the error says so', async () => {
  const away = () => Promise.reject(grpcError('UNAVAILABLE'));
  const executeUpdate = () => Promise.reject(new WorkflowUpdateRPCTimeoutOrCancelledError('no worker'));
  const handle = { executeUpdate, describe: away, signal: away };
  const temporal = answeringTemporal({ workflow: { getHandle: () => handle } });
  const how = { update: holdUpdate, signal: holdSignal, message: {} };
  await expect(ask(temporal, 'target:x:agent', how)).rejects.toMatchObject({
    code: 'SLIPWAY_TEMPORAL_UNREACHABLE',
    message: expect.stringContaining('may still happen') as string,
  });
});
