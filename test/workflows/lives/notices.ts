import type { ReceiverSpec } from '../../../src/domain/notify/notice.ts';
import { refused } from '../faults.ts';
import { QUICK } from '../requests.ts';
import { BO, type Life } from './life.ts';

const OPS: ReceiverSpec = { kind: 'slack', name: 'ops', url: { from: 'env:SLACK_URL' } };

/** A life with notices to receivers, one of which never accepts any. */
export const NOTICES: Readonly<Record<string, Life>> = {
  notices: async (harness, promotions) => {
    const { target: canary } = harness.newServingTarget();
    const { target } = harness.newServingTarget({ continueAsNewAfterEvents: 60 });
    await canary.release('b', { commit: 'c0ffee' });
    target.world.next('sendNotice', refused('SLIPWAY_NOT_FOUND', 404));
    const notify = [OPS];
    const { releaseId } = await target.submit('a', { notify, approval: { required: 1, withinMs: 60_000 } });
    await target.waitsFor(releaseId, 'approval');
    await target.say(releaseId, 'approve', BO);
    await target.result(releaseId);
    await target.viewOnce(({ state }) => (state.undelivered ?? []).length > 0);
    const { checks, graphConfigPath } = target.request('any');
    const release = { checks, graphConfigPath, steps: QUICK, soakMs: 0, notify };
    await promotions.promote(canary, target, { release });
    const { requestId } = await target.rollback(BO);
    await target.ended(requestId);
    await target.world.until(() => target.world.noticed.some(({ notice }) => notice.event === 'rolled_back'));
    return target;
  },
};
