import { afterEach, expect, it, vi } from 'vitest';

import { PromotionWatch } from '../../../src/dashboard/promotions/promotionWatch.ts';
import { answeringTemporal } from '../../temporal/client/answeringTemporal.ts';

afterEach(() => void vi.useRealTimers());

it('while Temporal hangs, a page gets the promotions that it listed last, after a second', async () => {
  let hangs = false;
  const none = async function* () {
    if (hangs) yield await new Promise<never>(() => undefined);
  };
  const watch = new PromotionWatch(answeringTemporal({ workflow: { list: none }, schedule: { list: none } }));
  const first = await watch.promotions();
  hangs = true;
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
  expect(await watch.promotions()).toBe(first);
});
