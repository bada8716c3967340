import { expect, it } from 'vitest';

import { awaitRemoval } from '../../../../src/temporal/client/preview/previewClient.ts';
import { answeringTemporal } from '../answeringTemporal.ts';

it('a removal is not awaited any longer once a push has created the preview again', async () => {
  const outOfTime = Object.assign(new Error('1 CANCELLED'), { code: 1, details: '', metadata: {} });
  const temporal = answeringTemporal({
    workflow: {
      getHandle: () => ({
        result: () => Promise.reject(outOfTime),
        query: () => Promise.resolve({ removal: null }),
      }),
    },
  });
  Object.assign(temporal.client, { withAbortSignal: (_signal: AbortSignal, call: () => unknown) => call() });
  const { signal } = new AbortController();
  await expect(awaitRemoval(temporal, 'preview:x', 1_000, signal)).rejects.toMatchObject({
    code: 'SLIPWAY_WRONG_MOMENT',
    exitCode: 4,
    message: expect.stringContaining('a push arrived during the removal') as string,
  });
});
