import { expect, it, onTestFinished, vi } from 'vitest';

import type { PromotionRequest } from '../../../../src/domain/promotion/promotion.ts';
import { startPromotion } from '../../../../src/temporal/client/promotion/promotionClient.ts';
import { request } from '../../../domain/target/targets.ts';
import { answeringTemporal, grpcError, pinnedTo } from '../answeringTemporal.ts';

const { target } = request('a');
const REQUEST = { name: 'up', from: target, to: target } as PromotionRequest;

it('a promotion that is started while Temporal does not answer may still start, and the error says so', async () => {
  const start = () => Promise.reject(grpcError('UNAVAILABLE'));
  const describe = () => Promise.reject(grpcError('NOT_FOUND'));
  const temporal = answeringTemporal({ workflow: { start, getHandle: () => ({ describe }) } });
  await expect(startPromotion(temporal, REQUEST)).rejects.toMatchObject({
    code: 'SLIPWAY_TEMPORAL_UNREACHABLE',
    message: expect.stringContaining('may still start') as string,
  });
});

it('no promotion is started if no worker could start it: it would start whenever one does', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const start = vi.fn();
  const temporal = answeringTemporal({ workflow: { start }, worker: { lastAccessTime: { seconds: 0 } } });
  const started = startPromotion(temporal, REQUEST);
  const refused = expect(started).rejects.toMatchObject({ code: 'SLIPWAY_NO_WORKER' });
  await vi.advanceTimersByTimeAsync(5_000);
  await refused;
  expect(start).not.toHaveBeenCalled();
});

it('no promotion is started whose target is pinned to a version without workers', async () => {
  const start = vi.fn();
  const describe = () => Promise.resolve(pinnedTo('v9'));
  const temporal = answeringTemporal({ workflow: { start, getHandle: () => ({ describe }) } });
  await expect(startPromotion(temporal, REQUEST)).rejects.toMatchObject({
    code: 'SLIPWAY_NO_WORKER',
    message: expect.stringContaining('no worker of version v9') as string,
  });
  expect(start).not.toHaveBeenCalled();
});
