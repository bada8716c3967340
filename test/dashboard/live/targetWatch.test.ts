import { setTimeout as sleep } from 'node:timers/promises';

import { expect, it, vi } from 'vitest';

import { FirstReads } from '../../../src/dashboard/live/firstReads.ts';
import type { HookWatches } from '../../../src/dashboard/live/hookWatches.ts';
import { TargetWatch } from '../../../src/dashboard/live/targetWatch.ts';
import { answeringTemporal } from '../../temporal/client/answeringTemporal.ts';
import { result, runs, seasoned } from '../../domain/target/targets.ts';

it('a terminated target is read every few seconds, and shows the end of the release that ran', async () => {
  const running = runs('release-2');
  let queries = 0;
  const target = {
    describe: () => Promise.resolve({ status: { name: 'TERMINATED' } }),
    query: () => Promise.resolve((queries++, { state: seasoned(), running })),
  };
  const release = {
    describe: () => Promise.resolve({ status: { name: 'COMPLETED' }, raw: {} }),
    query: () => Promise.reject(new Error('not asked here')),
    result: () => Promise.resolve(result('release-2', { outcome: 'aborted' })),
  };
  const temporal = answeringTemporal({
    workflow: { getHandle: (id: string) => (id === running.workflowId ? release : target) },
    // The history has no further event: the workflow has ended.
    workflowService: {
      getWorkflowExecutionHistory: () => sleep(1, { nextPageToken: new Uint8Array() }),
    },
  });
  const hooks = { follow: () => () => undefined } as unknown as HookWatches;
  const context = { temporal, home: '', environment: {} };
  const watch = new TargetWatch(
    context,
    { workflowId: 'target:x', name: 'x' },
    () => undefined,
    new FirstReads(),
    hooks,
  );
  await vi.waitFor(() => expect(watch.snapshot.view?.running).toBeNull());
  expect(watch.snapshot.view?.state.history.at(-1)).toMatchObject({
    releaseId: 'release-2',
    outcome: 'aborted',
  });
  const before = queries;
  await sleep(500);
  watch.stop();
  expect(queries - before).toBeLessThanOrEqual(1);
});
