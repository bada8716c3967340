import { expect, it } from 'vitest';

import type { TemporalConnection } from '../../../src/temporal/client/connection.ts';
import { pollingWorkers, requireWorker } from '../../../src/temporal/client/workerPresence.ts';

/** A Temporal where these workers poll these task queues. */
function polledBy(
  pollers: Readonly<Record<string, readonly string[]>>,
  now = Date.now(),
  versioningInfo?: object,
): TemporalConnection {
  const lastAccessTime = { seconds: Math.floor(now / 1_000) };
  const describeTaskQueue = ({ taskQueue }: { readonly taskQueue: { readonly name: string } }) =>
    Promise.resolve({
      pollers: (pollers[taskQueue.name] ?? []).map((identity) => ({
        identity,
        lastAccessTime,
        deploymentOptions: identity.startsWith('v') ? { buildId: identity } : null,
      })),
      versioningInfo,
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

it('counts only workers of the versions that get work, and names the current one if none polls', async () => {
  const queues = ['slipway', 'slipway-polls', 'slipway-restore-polls'];
  const polled = (...by: string[]) =>
    polledBy(Object.fromEntries(queues.map((queue) => [queue, by])), Date.now(), {
      currentDeploymentVersion: { buildId: 'v2' },
      rampingDeploymentVersion: { buildId: 'v3' },
    });
  expect(await pollingWorkers(polled('unversioned', 'v1', 'v2', 'v3'))).toEqual(['v2', 'v3']);
  await expect(requireWorker(polled('unversioned', 'v1'), 0)).rejects.toMatchObject({
    code: 'SLIPWAY_NO_WORKER',
    message: 'no worker of version v2, which is current, polls the task queue "slipway"',
  });
});

it('names the last poll and both clocks if no worker polls, because one of them may be wrong', async () => {
  const temporal = polledBy({ slipway: ['whole'] }, Date.now() - 100_000);
  await expect(requireWorker(temporal, 0)).rejects.toMatchObject({
    code: 'SLIPWAY_NO_WORKER',
    message: expect.stringMatching(
      /^no worker polls the task queue "slipway"; one did 1m4\ds ago, at \S+ \S+Z by Temporal's clock \(it is \S+ \S+Z by this machine's\)$/,
    ) as string,
  });
});
