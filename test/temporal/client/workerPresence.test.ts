import { expect, it } from 'vitest';

import type { TemporalConnection } from '../../../src/temporal/client/connection.ts';
import {
  lastPoll,
  pollingWorkers,
  requireEachVersion,
  requireWorker,
} from '../../../src/temporal/client/workerPresence.ts';

interface Clocks {
  /** When the workers polled a queue, by Temporal's clock. Default: now. */
  readonly polledAt?: (queue: string) => number;
  /** Default: this machine's. */
  readonly temporalClock?: () => number;
}

function polledBy(
  pollers: Readonly<Record<string, readonly string[]>>,
  { polledAt, temporalClock = Date.now }: Clocks = {},
  versioningInfo?: object,
): TemporalConnection {
  interface Queue {
    readonly taskQueue: { readonly name: string };
  }
  const polled: { readonly identity: string; readonly name: string; readonly at: number }[] = [];
  for (const [name, identities] of Object.entries(pollers))
    polled.push(
      ...identities.map((identity) => ({ identity, name, at: polledAt?.(name) ?? temporalClock() })),
    );
  const describeTaskQueue = ({ taskQueue }: Queue) =>
    Promise.resolve({
      pollers: polled
        .filter(({ name }) => name === taskQueue.name)
        .map(({ identity, at }) => ({
          identity,
          lastAccessTime: { seconds: Math.floor(at / 1_000) },
          deploymentOptions: identity.startsWith('v') ? { buildId: identity } : null,
        })),
      versioningInfo,
    });
  let hasDeadline = false;
  const pollActivityTaskQueue = ({ taskQueue, identity }: Queue & { readonly identity: string }) => {
    // As the server does.
    if (!hasDeadline) return Promise.reject(new Error('Context timeout is not set.'));
    polled.push({ identity, name: taskQueue.name, at: temporalClock() });
    return new Promise(() => undefined);
  };
  return {
    client: { withDeadline: (_deadline: number, call: () => unknown) => call() },
    connection: {
      withAbortSignal: (_signal: AbortSignal, call: () => unknown) => call(),
      withDeadline: (_deadline: number, call: () => unknown) => {
        hasDeadline = true;
        return call();
      },
      workflowService: { describeTaskQueue, pollActivityTaskQueue },
    },
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
    polledBy(
      Object.fromEntries(queues.map((queue) => [queue, by])),
      {},
      { currentDeploymentVersion: { buildId: 'v2' }, rampingDeploymentVersion: { buildId: 'v3' } },
    );
  expect(await pollingWorkers(polled('unversioned', 'v1', 'v2', 'v3'))).toEqual(['v2', 'v3']);
  await expect(requireWorker(polled('unversioned', 'v1'), 0)).rejects.toMatchObject({
    code: 'SLIPWAY_NO_WORKER',
    message: 'no worker of version v2, which is current, polls the task queue "slipway"',
  });
  expect(await lastPoll(polled('unversioned', 'v1'))).toBe(0);
  expect(await requireWorker(polled('v1'), 0, 'v1')).toEqual(['v1']);
  await expect(requireWorker(polled('v2', 'v3'), 0, 'v1')).rejects.toMatchObject({
    message: 'no worker of version v1 polls the task queue "slipway"',
  });
  expect(await requireEachVersion(polled('v2', 'v3'), 0)).toEqual(['v2', 'v3']);
  // A share of the work goes to the version that ramps.
  await expect(requireEachVersion(polled('v2'), 0)).rejects.toMatchObject({
    message: 'no worker of version v3, which ramps, polls the task queue "slipway"',
  });
});

it('judges by Temporal’s clock, so that a clock here that is ahead hides no worker', async () => {
  const temporalClock = (): number => Date.now() - 100_000;
  const temporal = polledBy(
    { slipway: ['worker'], 'slipway-polls': ['worker'], 'slipway-restore-polls': ['worker'] },
    { temporalClock },
  );
  expect(await requireWorker(temporal, 0)).toEqual(['worker']);
});

it('names the last poll by Temporal’s clock if no worker polls', async () => {
  const temporalClock = (): number => Date.now() - 50_000;
  const temporal = polledBy({ slipway: ['worker'] }, { polledAt: () => Date.now() - 150_000, temporalClock });
  await expect(requireWorker(temporal, 0)).rejects.toMatchObject({
    code: 'SLIPWAY_NO_WORKER',
    message: expect.stringMatching(
      /^no worker polls the task queue "slipway"; one did 1m4\ds ago$/,
    ) as string,
  });
});

it('a worker whose slots for workflow tasks are all taken last polled for activities', async () => {
  const [busy, idle] = [1_000_000, 9_000_000];
  const polledAt = (queue: string) => (queue === 'slipway-polls' ? idle : busy);
  const temporal = polledBy({ slipway: ['worker'], 'slipway-polls': ['worker'] }, { polledAt });
  expect(await lastPoll(temporal)).toBe(idle);
});
