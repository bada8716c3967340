import { judgedBy } from '../promotion/promotionsUnderTest.ts';
import { identity } from '../requests.ts';
import { BO, type Life } from './life.ts';

const FREEZES = [
  { name: 'weekend', timeZone: 'UTC', from: 'Fri 16:00', until: 'Mon 08:00', then: 'wait' },
] as const;

/** Lives in which a release waits for a freeze to end, and a target's verified artifact is promoted to another. */
export const PROMOTIONS: Readonly<Record<string, Life>> = {
  freezes: async (harness) => {
    const { target } = harness.newServingTarget();
    target.world.next('lookAtFreezes', () => Promise.resolve({ frozen: frozen('wait', 50) }));
    await target.release('b', { freezes: FREEZES });
    target.world.frozen = frozen('refuse', 3_600_000);
    await target.release('c', { freezes: FREEZES });
    target.world.frozen = frozen('wait', 3_600_000);
    const { releaseId } = await target.submit('d', { freezes: FREEZES });
    await target.waitsFor(releaseId, 'freeze');
    await target.say(releaseId, 'skip', { ...BO, what: 'freeze' });
    await target.result(releaseId);
    return target;
  },
  promotion: async (harness, promotions) => {
    const { target: canary } = harness.newServingTarget();
    const { target: production } = harness.newServingTarget();
    await canary.release('b');
    const approval = { required: 1, withinMs: 60_000 };
    const promotion = await promotions.start(canary, production, { soakMs: 50, bakeMs: 50, approval });
    await promotion.waitsFor('approval');
    await promotion.say('approve', BO);
    await promotion.result();
    await promotions.promote(canary, production, { name: 'again' });
    await canary.release('c');
    const baked = await promotions.start(canary, production, { name: 'baked', bakeMs: 3_600_000 });
    await baked.progressOnce(({ steps }) => steps.at(-1)?.step === 'bake');
    production.world.bad.add(identity('c'));
    await baked.result();
    await promotions.promote(canary, production, { name: 'held' });
    await production.handle.executeUpdate('unhold', { args: [BO] });
    const soaking = await promotions.start(canary, production, { name: 'soaking', soakMs: 3_600_000 });
    await soaking.progressOnce(({ steps }) => steps.at(-1)?.step === 'soak');
    await canary.release('d');
    await soaking.result();
    production.world.slow.add(identity('d'));
    const stopped = await promotions.start(canary, production, { name: 'stopped' });
    await stopped.progressOnce(({ steps }) => steps.at(-1)?.subject?.startsWith('release-') === true);
    await stopped.say('abort', BO);
    await stopped.result();
    return production;
  },
  'promotion-turn': async (harness, promotions) => {
    const { target: canary } = harness.newServingTarget();
    const { target: production } = harness.newServingTarget();
    await canary.release('b');
    const promotion = await promotions.start(canary, production, { soakMs: 3_600_000 });
    await promotion.progressOnce(({ steps }) => steps.at(-1)?.step === 'soak');
    await promotions.turn(canary, production);
    await promotion.say('skip', { ...BO, what: 'soak' });
    await promotion.result();
    await promotions.turn(canary, production);
    return undefined;
  },
  'promotion-places': async (_, { places }) => {
    await places.enter('one');
    await places.enter('two');
    await places.signal('enterPlace', { not: 'an id' }, null);
    await places.leave('one');
    await places.enter('two');
    await places.leave('two');
    // It checks every minute.
    await places.ended();
    return undefined;
  },
  'judged-promotion': async (harness, promotions) => {
    const { target: canary } = harness.newServingTarget();
    const { target: production } = harness.newServingTarget();
    const { judge } = harness;
    await canary.release('b');
    judge.says(production.world, 'failed');
    await promotions.promote(canary, production, { name: 'worse', judge: judgedBy('ask') });
    judge.says(production.world, { away: 'SLIPWAY_UNREACHABLE' });
    await promotions.promote(canary, production, { name: 'away', judge: judgedBy('ask') });
    judge.says(production.world, 'inconclusive', 'inconclusive', 'inconclusive');
    await promotions.promote(canary, production, { name: 'waits', judge: judgedBy('wait') });
    judge.says(production.world, 'inconclusive', 'inconclusive');
    const asks = await promotions.start(canary, production, { name: 'asks', judge: judgedBy('ask') });
    await asks.progressOnce(({ waiting }) => waiting !== null);
    await asks.say('retry', BO);
    await asks.progressOnce(({ waiting, steps }) => waiting !== null && steps.length === 4);
    await asks.say('skip', { ...BO, what: 'judge' });
    await asks.result();
    await canary.release('c');
    judge.says(production.world, 'inconclusive', { away: 'SLIPWAY_NOT_SERVING' });
    const byHand = await promotions.start(canary, production, { name: 'by-hand', judge: judgedBy('ask') });
    await byHand.progressOnce(({ waiting }) => waiting !== null);
    production.world.bringUp(production.world.patchElsewhere());
    await byHand.say('retry', BO);
    await byHand.progressOnce(({ waiting }) => waiting?.note.includes('changed by hand') === true);
    await byHand.say('retry', BO);
    await byHand.result();
    return production;
  },
};

/** A freeze that applies from now on for the given time. */
function frozen(then: 'wait' | 'refuse', forMs: number) {
  return { name: 'weekend', timeZone: 'UTC', then, until: Date.now() + forMs };
}
