import { expect, it } from 'vitest';

import { takeOver, type TakeOverEvent } from '../../../../src/temporal/server/predecessors/takeOver.ts';
import { answeringTemporal, grpcError } from '../../client/answeringTemporal.ts';

it('fails what a killed worker had begun, also if Temporal refuses to offer the release to others', async () => {
  const begun = { activityId: '7', activityType: { name: 'pollRevision' }, state: 2, attempt: 1 };
  const of = (instance: string) => ({ ...begun, lastWorkerIdentity: `slipway@host:1:${instance}` });
  const failed: unknown[] = [];
  const ended = new AbortController();
  const seen: TakeOverEvent[] = [];
  const temporal = answeringTemporal({
    workflow: {
      list: () => [{ workflowId: 'target:a/release-1' }],
      getHandle: () => ({
        describe: () =>
          Promise.resolve({
            raw: { pendingActivities: [of('killed'), { ...of('alive'), activityId: '8' }] },
          }),
      }),
    },
    workflowService: { resetStickyTaskQueue: () => Promise.reject(grpcError('PERMISSION_DENIED')) },
    activity: { fail: (step: unknown) => Promise.resolve(failed.push(step)) },
  });
  const registry = {
    identity: 'slipway@host:2:own',
    killed: () => Promise.resolve(['killed']),
    forget: () => Promise.resolve(),
    leave: () => Promise.resolve(),
  };
  await takeOver(temporal, registry, {
    signal: ended.signal,
    onEvent: (event) => {
      seen.push(event);
      ended.abort();
    },
  });
  expect(seen).toMatchObject([{ what: 'failed_step', step: { activityType: 'pollRevision' } }]);
  expect(failed).toEqual([{ workflowId: 'target:a/release-1', activityId: '7' }]);
});

it('ends with its worker, also if Temporal hangs', async () => {
  const ended = new AbortController();
  const temporal = answeringTemporal({
    workflow: {
      async *list() {
        ended.abort();
        await new Promise(() => undefined);
      },
    },
  });
  const registry = {
    identity: 'slipway@host:2:own',
    killed: () => Promise.resolve(['killed']),
    forget: () => Promise.resolve(),
    leave: () => Promise.resolve(),
  };
  await takeOver(temporal, registry, { signal: ended.signal, onEvent: () => expect.fail() });
});
