import { expect, it } from 'vitest';

import { promotionSubject } from '../../../src/dashboard/actions/promotionSubject.ts';
import { waitingPromotion } from './waitingPromotion.ts';

const MESSAGE = { who: 'bo', from: 'dashboard', reason: 'good', requestId: 'one' };

it('an approval of an earlier run of a promotion is refused, because it promotes something else', async () => {
  const sent: unknown[] = [];
  const shown = await approval('run-1', sent);
  expect(shown?.order).toMatchObject({ problem: undefined, carried: { run: 'run-1' } });
  const pressed = await approval('run-2', sent);
  const stale = { run: shown?.order.carried?.['run'] ?? '' };
  await expect(pressed?.send(stale, MESSAGE, () => undefined)).rejects.toMatchObject({
    code: 'SLIPWAY_WRONG_MOMENT',
    message: 'the promotion nightly has ended, and was started again since',
  });
  expect(sent).toEqual([]);
  await shown?.send(stale, MESSAGE, () => undefined);
  expect(sent).toHaveLength(1);
});

/** The page of an approval, while the given run of the promotion waits for it. */
function approval(runId: string, sent: unknown[]) {
  const context = waitingPromotion(runId, (...update) => {
    sent.push(update);
    return Promise.resolve({ disposition: 'taken', note: 'approved' });
  });
  return promotionSubject(context, 'promotion:x:nightly', 'approve', { name: 'bo', proved: false });
}
