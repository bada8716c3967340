import { expect, it } from 'vitest';

import { targetHistories } from '../../../../src/temporal/client/release/pastReleases.ts';
import { PayloadCipher } from '../../../../src/temporal/codec/payloadCipher.ts';
import { answeringTemporal } from '../answeringTemporal.ts';

/** Temporal without a worker. It has two targets, whose payloads are encrypted with a key that is not here. */
function withoutKey() {
  const encrypted = {
    metadata: { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from('old') },
  };
  const started = { workflowExecutionStartedEventAttributes: { input: { payloads: [encrypted] } } };
  const listed = (workflowId: string) => ({
    workflowId,
    runId: 'run',
    startTime: new Date(),
    typedSearchAttributes: { get: () => workflowId.slice('target:'.length) },
  });
  const temporal = answeringTemporal({
    worker: { lastAccessTime: { seconds: 0 } },
    workflow: {
      // eslint-disable-next-line @typescript-eslint/require-await -- the client's list is asynchronous
      async *list() {
        yield listed('target:a');
        yield listed('target:b');
      },
      getHandle: () => ({
        describe: () => Promise.resolve({ runId: 'run' }),
        fetchHistory: () => Promise.resolve({ events: [started] }),
      }),
    },
  });
  return { ...temporal, settings: { ...temporal.settings, codec: new PayloadCipher([]) } };
}

it('of a target whose payload key is not here is empty, and does not fail those of others', async () => {
  expect(await targetHistories(withoutKey(), () => undefined)).toMatchObject([
    { name: 'a', releases: [], unanswered: { code: 'SLIPWAY_NO_WORKER' } },
    { name: 'b', releases: [] },
  ]);
});
