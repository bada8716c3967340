import { WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { expect, it } from 'vitest';

import { hookEventsQuery } from '../../../../src/messages/hooks.ts';
import { answerHook, deliverEvents, viewHook } from '../../../../src/temporal/client/hooks/hookClient.ts';
import { answeringTemporal, grpcError, pinnedTo } from '../answeringTemporal.ts';

const HOOK = { name: 'alerts', workflowId: 'hook:alerts:x', targets: new Map() };

const untaken = (): Promise<never> =>
  Promise.reject(new WorkflowUpdateRPCTimeoutOrCancelledError('out of time', { cause: new Error() }));

function silentHook(described: object) {
  const query = () => Promise.reject(grpcError('DEADLINE_EXCEEDED'));
  const handle = { describe: () => Promise.resolve(described), query, executeUpdate: untaken };
  return answeringTemporal({ workflow: { getHandle: () => handle, executeUpdateWithStart: untaken } });
}

it.each([
  ['an event', (temporal) => deliverEvents(temporal, HOOK, { events: [], orders: [] })],
  ['an answer to an event', (temporal) => answerHook(temporal, HOOK, ANSWER)],
  ['a query', (temporal) => viewHook(temporal, HOOK, hookEventsQuery)],
] as const satisfies [string, (temporal: ReturnType<typeof silentHook>) => Promise<unknown>][])(
  '%s that a hook does not take: the error names the version without workers that the hook is pinned to',
  async (_, send) => {
    await expect(send(silentHook(pinnedTo('v9')))).rejects.toMatchObject({
      code: 'SLIPWAY_NO_WORKER',
      message: 'no worker of version v9 polls the task queue "slipway"',
    });
    await expect(send(silentHook({ raw: {}, status: { name: 'RUNNING' } }))).rejects.toMatchObject({
      code: 'SLIPWAY_NO_WORKER',
      message: expect.stringMatching(/^no worker .*within \d s$/u) as string,
    });
  },
);

it('an event that a Temporal that hangs does not take is refused before its sender gives up', async () => {
  const handle = { describe: () => new Promise(() => undefined) };
  const temporal = answeringTemporal({
    workflow: { getHandle: () => handle, executeUpdateWithStart: untaken },
  });
  await expect(deliverEvents(temporal, HOOK, { events: [], orders: [] })).rejects.toThrow('CANCELLED');
});

const ANSWER = { event: 'e', approved: true, who: 'ada' };
