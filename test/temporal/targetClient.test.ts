import { expect, it } from 'vitest';

import type { TemporalConnection } from '../../src/temporal/connection.ts';
import { viewTarget } from '../../src/temporal/targetClient.ts';

const DEADLINE_EXCEEDED = 4;

/** A Temporal that answers, with a worker that polls; the target's workflow answers as it is told to. */
function temporalWhereTarget(query: () => Promise<unknown>, describe = () => Promise.resolve({})) {
  const withDeadline = (_deadline: number, call: () => unknown) => call();
  const lastAccessTime = { seconds: Math.floor(Date.now() / 1_000) };
  return {
    client: { withDeadline, workflow: { getHandle: () => ({ describe, query }) } },
    connection: {
      withDeadline,
      workflowService: {
        describeTaskQueue: () => Promise.resolve({ pollers: [{ identity: 'worker', lastAccessTime }] }),
      },
    },
    settings: { address: 'x', namespace: 'default', taskQueue: 'slipway', origin: 'dev' },
  } as unknown as TemporalConnection;
}

function timedOut(): Promise<never> {
  const error = new Error('4 DEADLINE_EXCEEDED');
  return Promise.reject(Object.assign(error, { code: DEADLINE_EXCEEDED, details: '', metadata: {} }));
}

it('blames the worker where Temporal answers and the question to the target does not come back', async () => {
  const asked = viewTarget(temporalWhereTarget(timedOut), 'target:x:greeter');
  await expect(asked).rejects.toMatchObject({ code: 'SLIPWAY_NO_WORKER' });
});

it('blames Temporal where Temporal itself does not answer', async () => {
  const asked = viewTarget(temporalWhereTarget(timedOut, timedOut), 'target:x:greeter');
  await expect(asked).rejects.toMatchObject({ code: 'SLIPWAY_TEMPORAL_UNREACHABLE' });
});
