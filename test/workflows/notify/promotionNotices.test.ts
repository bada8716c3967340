import { expect, it } from 'vitest';

import type { ReceiverSpec } from '../../../src/domain/notify/notice.ts';
import type { PromotionRequest } from '../../../src/domain/promotion/promotion.ts';
import { describePromotions } from '../promotion/describePromotions.ts';
import { identity, QUICK } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

const OPS: ReceiverSpec = { kind: 'slack', name: 'ops', url: { from: 'env:SLACK_URL' } };

/** The settings of a release on the target, with a receiver of notices. */
function telling(to: TargetUnderTest): PromotionRequest['release'] {
  const { checks, graphConfigPath } = to.request('any');
  return { checks, graphConfigPath, steps: QUICK, soakMs: 0, notify: [OPS] };
}

/** The notices that were sent, once there are so many. */
async function told({ world }: TargetUnderTest, times: number): Promise<string[]> {
  await world.until(() => world.noticed.length >= times);
  return world.noticed.map(({ notice: { event, name } }) => `${event} ${name ?? ''}`).sort();
}

describePromotions('notices of promotions', ({ harness, promotions, line }) => {
  it('report that one waits for approval, its release, and its end', async () => {
    const { canary, production } = await line();
    const approval = { required: 1, withinMs: 3_600_000 };
    const promotion = await promotions.start(canary, production, {
      release: telling(production),
      approval,
    });
    await promotion.waitsFor('approval');
    expect(await told(production, 1)).toEqual(['promotion_waiting canary-to-production']);
    expect(production.world.noticed[0]?.notice).toMatchObject({
      kind: 'promotion',
      target: 'production',
      commit: 'c0ffee1',
      artifact: identity('b'),
      reason: expect.stringMatching(/one approval is needed .*, until 20/u),
    });
    await promotion.say('approve', { who: 'bo' });
    expect((await promotion.result()).outcome).toBe('released');
    expect(await told(production, 4)).toEqual([
      'promoted canary-to-production',
      'promotion_waiting canary-to-production',
      'release_started release-1',
      'released release-1',
    ]);
  });

  it('report why one has stopped, and nothing if there was nothing to promote', async () => {
    const { canary, production } = await line();
    production.world.bad.add(identity('b'));
    const stopped = await promotions.promote(canary, production, { release: telling(production) });
    expect(stopped.outcome).toBe('rolled_back');
    expect(await told(production, 4)).toEqual([
      'hold_set ',
      'promotion_stopped canary-to-production',
      'release_started release-1',
      'rolled_back release-1',
    ]);
    const { target: other } = harness.newServingTarget();
    await other.release('b');
    const nothing = await promotions.promote(canary, other, { release: telling(other) });
    expect(nothing.nothingToDo).toBe(true);
    expect(other.world.noticed).toEqual([]);
  });
});
