import { WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { expect, it } from 'vitest';

import { awaitRemoval, pushPreview } from '../../../../src/temporal/client/preview/previewClient.ts';
import { request } from '../../../domain/target/targets.ts';
import { answeringTemporal, grpcError, pinnedTo } from '../answeringTemporal.ts';

it('a removal is not awaited any longer once a push has created the preview again', async () => {
  const temporal = answeringTemporal({
    workflow: {
      getHandle: () => ({
        result: () => Promise.reject(grpcError('CANCELLED')),
        query: () => Promise.resolve({ removal: null }),
      }),
    },
  });
  const { signal } = new AbortController();
  await expect(awaitRemoval(temporal, 'preview:x', 1_000, signal)).rejects.toMatchObject({
    code: 'SLIPWAY_WRONG_MOMENT',
    exitCode: 4,
    message: expect.stringContaining('a push arrived during the removal') as string,
  });
});

it('an interrupt ends the wait for a worker that does not accept a push', async () => {
  const stop = new AbortController();
  const temporal = answeringTemporal({
    workflow: {
      startUpdateWithStart: () => {
        stop.abort();
        return new Promise(() => undefined);
      },
      getHandle: () => ({ describe: () => Promise.reject(grpcError('NOT_FOUND')) }),
    },
  });
  const canceled = new WorkflowUpdateRPCTimeoutOrCancelledError('canceled');
  const withAbortSignal = (signal: AbortSignal, call: () => Promise<unknown>) =>
    Promise.race([
      call(),
      new Promise((_, reject) => {
        if (signal.aborted) reject(canceled);
        else signal.addEventListener('abort', () => reject(canceled));
      }),
    ]);
  Object.assign(temporal.client, { withAbortSignal });
  await expect(pushPreview(temporal, TERMS, request('a'), stop.signal)).rejects.toThrow(
    'was not queued within 0 s',
  );
});

it('a push does not wait for a preview whose target is pinned to a version without workers', async () => {
  const temporal = answeringTemporal({
    workflow: {
      getHandle: (id: string) => ({
        describe: () => Promise.resolve(id.startsWith('target:') ? pinnedTo('v9') : { raw: {} }),
      }),
    },
  });
  const { signal } = new AbortController();
  await expect(pushPreview(temporal, TERMS, request('a'), signal)).rejects.toMatchObject({
    code: 'SLIPWAY_NO_WORKER',
    message: expect.stringContaining('no worker of version v9') as string,
  });
});

const TERMS = { name: 'pr', pr: 7, ttlMs: 1_000 } as unknown as Parameters<typeof pushPreview>[1];
