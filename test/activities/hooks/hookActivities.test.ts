import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';

import { hookActivities } from '../../../src/activities/hooks/hookActivities.ts';
import { EMPTY_TARGET } from '../../../src/domain/target/targetState.ts';
import { ADA, runs } from '../../domain/target/targets.ts';

it('an order to abort does not mean a release that Temporal is only starting', async () => {
  const target = {
    describe: () => Promise.resolve({ status: { name: 'RUNNING' } }),
    query: () => Promise.resolve({ state: EMPTY_TARGET, running: runs('release-3') }),
  };
  const release = { describe: () => Promise.reject(new WorkflowNotFoundError('gone', 'x', undefined)) };
  const client = {
    withAbortSignal: (_: AbortSignal, call: () => unknown) => call(),
    withDeadline: (_: number, call: () => unknown) => call(),
    workflow: { getHandle: (id: string) => (id === 'target:x' ? target : release) },
  } as unknown as Client;
  const order = { do: 'abort', target: 'production', workflowId: 'target:x' } as const;
  const abort = () => hookActivities().carryOutOrder({ order, requestId: 'event', by: ADA });
  expect(await new MockActivityEnvironment({}, { client }).run(abort)).toEqual({
    state: 'not_met',
    note: 'release-3 began after the rule had acted',
  });
});
