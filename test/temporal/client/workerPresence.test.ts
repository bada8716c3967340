import { expect, it } from 'vitest';

import type { TemporalConnection } from '../../../src/temporal/client/connection.ts';
import { pollingWorkers } from '../../../src/temporal/client/workerPresence.ts';

/** A Temporal where these workers poll these task queues. */
function polledBy(pollers: Readonly<Record<string, readonly string[]>>): TemporalConnection {
  const lastAccessTime = { seconds: Math.floor(Date.now() / 1_000) };
  const describeTaskQueue = ({ taskQueue }: { readonly taskQueue: { readonly name: string } }) =>
    Promise.resolve({
      pollers: (pollers[taskQueue.name] ?? []).map((identity) => ({ identity, lastAccessTime })),
    });
  return {
    client: { withDeadline: (_deadline: number, call: () => unknown) => call() },
    connection: { workflowService: { describeTaskQueue } },
    settings: { address: 'x', namespace: 'default', taskQueue: 'slipway', origin: 'dev' },
  } as unknown as TemporalConnection;
}

it('counts only workers that poll the task queue, and those of the waiting activities', async () => {
  const temporal = polledBy({
    slipway: ['whole', 'without polls', 'without restores'],
    'slipway-polls': ['whole', 'without restores'],
    'slipway-restore-polls': ['whole', 'without polls'],
  });
  expect(await pollingWorkers(temporal)).toEqual(['whole']);
});
