import { afterAll, describe, expect, inject, it } from 'vitest';

import { openTestServer } from '../../support/testServer.ts';
import { openHarness, replayFailures } from '../harness.ts';
import { identity } from '../requests.ts';
import { useHarness } from '../projectHarness.ts';
import { PlacesUnderTest } from './placesUnderTest.ts';
import { judgedBy, promotionRequest, PromotionsUnderTest } from './promotionsUnderTest.ts';

describe('promotions whose slots become free at the same time', () => {
  const harness = useHarness({ places: { atOnce: 1, apartMs: 0 }, ...inject('workerMode') });
  const promotions = new PromotionsUnderTest(harness);

  afterAll(async () => {
    // On a busy machine they have ended: nobody has used them for a minute.
    const slots = harness.client.workflow.getHandle(promotions.places.workflowId);
    await slots.terminate().catch(() => undefined);
    for (const target of harness.targets) await target.terminate();
  });

  /** The second promotion waits for the first, whose release waits for its revision. */
  async function twoPromotions(given?: Parameters<PromotionsUnderTest['start']>[2]) {
    const [canary] = await harness.newReleasedTarget('x', 'b');
    const [first, second] = [harness.newServingTarget().target, harness.newServingTarget().target];
    first.world.slow.add(identity('b'));
    const one = await promotions.start(canary, first);
    await first.world.called('awaitDeployed');
    const two = await promotions.start(canary, second, given);
    await two.progressOnce(({ steps }) => steps.at(-1)?.step === 'promote');
    const endFirst = async (): Promise<void> => {
      const [made] = first.world.revisionsOf(first.request('b').artifact);
      first.world.bringUp(made!);
      expect(await one.result()).toMatchObject({ outcome: 'released' });
    };
    return { canary, first, second, two, endFirst };
  }

  it('release one after the other, without history events, and invalid messages to their slots change nothing', async () => {
    const { first, second, two, endFirst } = await twoPromotions({ judge: judgedBy('ask') });
    await promotions.places.signal('enterPlace', { not: 'an id' }, null);
    await promotions.places.signal('leavePlace');
    expect(second.world.count('patchDeployment')).toBe(0);
    await endFirst();
    expect(await two.result()).toMatchObject({ outcome: 'released' });
    const patched = (world: typeof first.world) =>
      world.calls.find(({ activity }) => activity === 'patchDeployment')?.startedAt ?? 0;
    const brought = first.world.calls.find(({ activity }) => activity === 'recordRelease')?.startedAt ?? 0;
    expect(patched(second.world)).toBeGreaterThan(brought);
    const histories = await promotions.histories();
    expect(await replayFailures(inject('workflowBundle'), histories)).toEqual([]);
  });

  it('do not wait for one whose release waits for its turn or soaks', async () => {
    const [canary] = await harness.newReleasedTarget('x', 'b');
    const [busy, soaking, free] = [1, 2, 3].map(() => harness.newServingTarget().target);
    const approval = { required: 1, withinMs: 3_600_000 };
    const { releaseId } = await busy!.submit('c', { approval });
    await busy!.waitsFor(releaseId, 'approval');
    const queued = await promotions.start(canary, busy!);
    await queued.progressOnce(({ steps }) => steps.at(-1)?.subject === 'release-2');
    const { release } = promotionRequest(canary, soaking!);
    const soaks = await promotions.start(canary, soaking!, { release: { ...release, soakMs: 3_600_000 } });
    await soaks.progressOnce(({ steps }) => steps.at(-1)?.subject === 'release-1');
    await soaking!.progressOnce('release-1', ({ steps }) => steps.at(-1)?.step === 'soak');
    expect(await promotions.promote(canary, free!)).toMatchObject({ outcome: 'released' });
    await Promise.all([queued, soaks].map((promotion) => promotion.say('abort')));
    await busy!.say(releaseId, 'reject');
    expect(await queued.result()).toMatchObject({ outcome: 'aborted' });
    expect(await soaks.result()).toMatchObject({ outcome: 'aborted' });
  });

  it('release nothing that was rolled back on its first target while they waited', async () => {
    const { canary, second, two, endFirst } = await twoPromotions();
    await canary.rollback({ who: 'bo', reason: 'it lies' });
    await endFirst();
    const result = await two.result();
    expect(result).toMatchObject({ outcome: 'superseded', releaseId: null });
    expect(result.reason).toContain('rollback-3 by bo: it lies');
    expect(second.world.count('patchDeployment')).toBe(0);
  });

  it('release nothing if a later target was put on hold while they waited', async () => {
    const [last] = await harness.newReleasedTarget('a');
    const downstream = [{ ...last.request('any').target, name: 'last' }];
    const { second, two, endFirst } = await twoPromotions({ downstream });
    await last.handle.executeUpdate('hold', { args: [{ who: 'bo', reason: 'an incident' }] });
    await endFirst();
    const result = await two.result();
    expect(result).toMatchObject({ outcome: 'rejected', releaseId: null, code: 'SLIPWAY_TARGET_ON_HOLD' });
    expect(result.reason).toContain('promotions that lead to "last" are stopped');
    expect(second.world.count('patchDeployment')).toBe(0);
    const histories = await promotions.histories();
    expect(await replayFailures(inject('workflowBundle'), histories)).toEqual([]);
  });
});

it.concurrent(
  'the slots continue as new with their holders and waiters, and end without any',
  async ({ skip }) => {
    // Places are checked every minute, so the test skips minutes.
    const server = await openTestServer();
    if (typeof server === 'string') return skip(server);
    const { address, time } = server;
    const workflowBundle = inject('workflowBundle');
    const taskQueue = 'places';
    const own = { address, workflowBundle, taskQueue, nameWorld: String };
    const harness = await openHarness(own);
    const places = new PlacesUnderTest(harness);
    const aMinutePasses = async () => time.until((await time.now()) + 61_000);
    try {
      await places.enter('one');
      // Each waiting promotion repeats its request, so the history grows with every repetition.
      for (let said = 0; said < 1_500; said += 100) {
        await Promise.all(Array.from({ length: 100 }, () => places.enter('two')));
      }
      expect(await places.histories()).toHaveLength(1);
      await aMinutePasses();
      expect(await places.histories()).toHaveLength(2);
      expect(await places.standing('one')).toEqual({ state: 'has' });
      expect(await places.standing('two')).toEqual({ state: 'waits', ahead: 1 });
      await places.leave('one');
      expect(await places.standing('two')).toEqual({ state: 'has' });
      await places.leave('two');
      await aMinutePasses();
      await places.ended();
      expect(await replayFailures(workflowBundle, await places.histories())).toEqual([]);
    } finally {
      await harness.close();
      await server.stop();
    }
  },
);
