import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { expect, it, vi } from 'vitest';

import { FirstReads } from '../../../src/dashboard/live/firstReads.ts';
import type { HookWatches } from '../../../src/dashboard/live/hookWatches.ts';
import { TargetWatch } from '../../../src/dashboard/live/targetWatch.ts';
import { TemporalPulse } from '../../../src/dashboard/live/temporalPulse.ts';
import { servingOf } from '../../../src/dashboard/targets/targetTexts.ts';
import type { TemporalConnection } from '../../../src/temporal/client/connection.ts';
import {
  DEPLOYMENT_ID,
  deploymentAnswer,
  OTHER_REVISION_ID,
  REVISION_ID,
  targetOn,
} from '../../activities/activitiesUnderTest.ts';
import { json, startService } from '../../clients/faultyService.ts';
import { runningStep, sampleProgress } from '../../cli/ui/sampleProgress.ts';
import { answeringTemporal, grpcError, pinnedTo } from '../../temporal/client/answeringTemporal.ts';
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
  const watch = watchOf(temporal);
  await vi.waitFor(() => expect(watch.snapshot.view?.running).toBeNull(), 10_000);
  expect(watch.snapshot.view?.state.history.at(-1)).toMatchObject({
    releaseId: 'release-2',
    outcome: 'aborted',
  });
  const before = queries;
  await sleep(500);
  watch.stop();
  expect(queries - before).toBeLessThanOrEqual(1);
});

it('a release whose version has no workers does not keep its last state: the watch says why', async () => {
  const running = runs('release-2');
  const progress = sampleProgress([runningStep({ step: 'deployed' })]);
  let isStranded = false;
  const release = {
    describe: () => Promise.resolve(pinnedTo('v9')),
    query: () => (isStranded ? Promise.reject(new Error('no worker')) : Promise.resolve(progress)),
  };
  const target = { query: () => Promise.resolve({ state: seasoned(), running }) };
  const temporal = answeringTemporal({
    workflow: { getHandle: (id: string) => (id === running.workflowId ? release : target) },
    workflowService: {
      getWorkflowExecutionHistory: () => sleep(10, { nextPageToken: new Uint8Array(1) }),
    },
  });
  const watch = watchOf(temporal);
  await vi.waitFor(() => expect(watch.snapshot.progress).toEqual(progress), 10_000);
  expect(watch.snapshot.call).toBeNull();
  isStranded = true;
  const says = expect.stringContaining('no worker of version v9 polls') as string;
  await vi.waitFor(() => expect(watch.snapshot.call).toMatchObject({ says }), 10_000);
  isStranded = false;
  await vi.waitFor(() => expect(watch.snapshot.call).toBeNull(), 10_000);
  watch.stop();
});

it('what serves is read again whenever it may have changed, even soon after the last read', async () => {
  let serves = REVISION_ID;
  const plane = await startService((_, response) =>
    json(response, 200, deploymentAnswer({ active_revision_id: serves })),
  );
  const spec = targetOn(plane.url, { apiKey: { from: 'env:KEY' }, deploymentId: DEPLOYMENT_ID });
  let state = seasoned({ spec, activeRevisionId: serves });
  const temporal = answeringTemporal({
    workflow: { getHandle: () => ({ query: () => Promise.resolve({ state, running: null }) }) },
    workflowService: {
      getWorkflowExecutionHistory: () => sleep(10, { nextPageToken: new Uint8Array(1) }),
    },
  });
  const watch = watchOf(temporal, { KEY: 'the-key' });
  const shown = () => servingOf(watch.snapshot);
  await vi.waitFor(
    () => expect(watch.snapshot.deployment).toMatchObject({ activeRevisionId: REVISION_ID }),
    10_000,
  );
  serves = OTHER_REVISION_ID;
  state = { ...state, activeRevisionId: serves };
  await vi.waitFor(() => expect(shown()).toBe(OTHER_REVISION_ID), 10_000);
  watch.stop();
});

it('a Temporal that hangs is noticed within seconds, keeps the last state, and is read again when it answers', async () => {
  let hangs = false;
  const answer = async <T>(value: T): Promise<T> => {
    await sleep(10);
    if (hangs) throw grpcError('DEADLINE_EXCEEDED');
    return value;
  };
  const temporal = answeringTemporal({
    getSystemInfo: () => answer({}),
    workflow: { getHandle: () => ({ query: () => answer({ state: seasoned(), running: null }) }) },
    // Held open until there is an event: for a minute.
    workflowService: { getWorkflowExecutionHistory: () => new Promise(() => undefined) },
  });
  const watch = watchOf(temporal);
  await vi.waitFor(() => expect(watch.snapshot.view).toBeDefined(), 10_000);
  hangs = true;
  await vi.waitFor(() => expect(watch.snapshot.silence?.why).toContain('does not answer'), 10_000);
  expect(watch.snapshot.view?.state).toEqual(seasoned());
  hangs = false;
  await vi.waitFor(() => expect(watch.snapshot.silence).toBeUndefined(), 10_000);
  watch.stop();
});

function watchOf(temporal: TemporalConnection, environment: Readonly<Record<string, string>> = {}) {
  const hooks = { follow: () => () => undefined } as unknown as HookWatches;
  return new TargetWatch(
    { temporal, home: join(tmpdir(), 'slipway-no-such-home'), environment },
    { workflowId: 'target:x', name: 'x' },
    () => undefined,
    { firstReads: new FirstReads(), hooks, pulse: new TemporalPulse(temporal) },
  );
}
