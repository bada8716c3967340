import { WorkflowNotFoundError } from '@temporalio/client';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { submitRelease as queue, withdrawReleases } from '../../../../src/domain/target/targetQueue.ts';
import { EMPTY_TARGET } from '../../../../src/domain/target/targetState.ts';
import { intervene, stopRelease } from '../../../../src/temporal/client/intervention/interventionClient.ts';
import type { TemporalConnection } from '../../../../src/temporal/client/connection.ts';
import { ADA, NOW, request, runs } from '../../../domain/target/targets.ts';
import { answeringTemporal } from '../answeringTemporal.ts';

const BO = { who: 'bo', from: 'cli' };

describe('a release that is unknown to the target', () => {
  it.each([
    ['approved', () => intervene(target(), 'target:x', 'approve', BO, 'release-999')],
    ['stopped', () => stopRelease(target(), 'target:x', 'release-999', BO)],
  ])('is not %s: the error names the existing ones', async (_what, ask) => {
    await expect(ask()).rejects.toMatchObject({
      code: 'SLIPWAY_RELEASE_UNKNOWN',
      exitCode: 1,
      message: '"production" knows no release "release-999"',
      hint: 'its last releases: release-2, release-7, release-1; list all: slipway history production',
    });
  });

  it('is distinguished from one that has ended', async () => {
    const ended = intervene(target(), 'target:x', 'approve', BO, 'release-1');
    await expect(ended).rejects.toMatchObject({ code: 'SLIPWAY_WRONG_MOMENT' });
  });
});

it.each([
  ['approved', (temporal: TemporalConnection) => intervene(temporal, 'target:x', 'approve', BO)],
  ['stopped', (temporal: TemporalConnection) => stopRelease(temporal, 'target:x', 'release-7', BO)],
])('a release that Temporal is only starting is %s once it has started', async (_what, ask) => {
  let looks = 0;
  const answer = { id: 'q', disposition: 'taken', note: 'done' };
  const release = (): Promise<object> =>
    ++looks > 3 ? Promise.resolve({ ...answer, status: { name: 'RUNNING' } }) : gone();
  expect(await ask(target({ describe: release, executeUpdate: release }))).toEqual({
    releaseId: 'release-7',
    disposition: 'taken',
    note: 'done',
    via: 'update',
  });
});

it('a message to a terminated target, while no worker runs, comes too late', async () => {
  const gone = new WorkflowNotFoundError('workflow execution already completed', 'target:x', undefined);
  const temporal = answeringTemporal({
    worker: { lastAccessTime: { seconds: 1 } },
    workflow: {
      getHandle: () => ({
        describe: () => Promise.resolve({ status: { name: 'TERMINATED' } }),
        signal: () => Promise.reject(gone),
      }),
    },
  });
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const late = expect(intervene(temporal, 'target:x', 'pause', BO)).rejects.toMatchObject({
    code: 'SLIPWAY_WRONG_MOMENT',
    message: expect.stringContaining('the target was terminated') as string,
  });
  // It waits a moment for a worker.
  await vi.advanceTimersByTimeAsync(5_000);
  await late;
});

function gone(): Promise<never> {
  return Promise.reject(new WorkflowNotFoundError('gone', 'target:x', undefined));
}

/** `release-1` was withdrawn, `release-7` runs, `release-2` waits. @param release - a release's workflow. */
function target(release: object = { executeUpdate: gone }) {
  const first = queue(EMPTY_TARGET, null, request('a'), NOW).state;
  const second = queue(withdrawReleases(first, undefined, ADA, NOW).state, null, request('b'), NOW).state;
  const running = runs('release-7', { workflowId: 'target:x/release-7' });
  return answeringTemporal({
    workflow: {
      getHandle: (workflowId: string) => ({
        describe: () => Promise.resolve({ status: { name: 'RUNNING' } }),
        query: () => Promise.resolve({ state: second, running }),
        ...(workflowId === 'target:x' ? { executeUpdate: () => Promise.resolve([]) } : release),
      }),
    },
  });
}
