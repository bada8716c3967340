import { expect, it } from 'vitest';

import type { GuardPolicy } from '../../../src/domain/guard/guardPolicy.ts';
import { identity } from '../requests.ts';
import { describePromotions } from './describePromotions.ts';

const BO = { who: 'bo', reason: 'a reason' };
const DAY_MS = 86_400_000;

describePromotions('the candidate of a promotion', ({ harness, promotions, line }) => {
  it('is promoted from a target whose runs Temporal has deleted, by its state in the artifact store', async () => {
    const { canary, production } = await line();
    await canary.release('c');
    await canary.terminate();
    await canary.forget();
    const store = `file:///${canary.world.id}`;
    const result = await promotions.promote(canary, production, { store });
    expect(result).toMatchObject({ outcome: 'released', artifact: identity('c') });
    harness.forget(canary);
  });

  it('of such a target cannot be approved by who released it', async () => {
    const { canary, production } = await line();
    await canary.release('c', { commit: 'c0ffee2' });
    await canary.terminate();
    await canary.forget();
    const asked = {
      store: `file:///${canary.world.id}`,
      approval: { required: 1, withinMs: DAY_MS },
    };
    const promotion = await promotions.start(canary, production, asked);
    await promotion.waitsFor('approval');
    await expect(promotion.say('approve', { who: 'ada' })).rejects.toMatchObject({
      cause: { message: 'the person who released the artifact cannot approve it' },
    });
    await promotion.say('approve', BO);
    expect(await promotion.result()).toMatchObject({ outcome: 'released', commit: 'c0ffee2' });
    for (const name of canary.world.kept.keys()) if (!name.startsWith('.')) canary.world.kept.delete(name);
    await production.release('x');
    expect(await promotions.promote(canary, production, asked)).toMatchObject({
      outcome: 'rejected',
      reason: expect.stringContaining('it is not known who released it') as string,
    });
    harness.forget(canary);
  });

  it('is not what a guard rolled back without a hold, until a person allows it', async () => {
    const { canary, production } = await line();
    production.world.measures = () => 1;
    const source = { kind: 'http', url: 'http://metrics.test/errors', path: 'value' } as const;
    const guard: GuardPolicy = {
      ...{ forMs: DAY_MS, everyMs: DAY_MS, afterMs: 0, noData: 'continue', hold: false },
      metrics: [{ name: 'errors', source, max: 0.5 }],
    };
    await production.release('b', { guard });
    const { state } = await production.viewOnce(({ state }) => state.history.at(-1)?.kind === 'rollback');
    expect(state.hold).toBeNull();
    await production.release('c');
    expect(await promotions.promote(canary, production)).toMatchObject({
      outcome: 'rejected',
      reason: expect.stringContaining('was rolled back from') as string,
    });
    await production.handle.executeUpdate('unquarantine', { args: [{ ...BO, artifact: identity('b') }] });
    expect(await promotions.promote(canary, production)).toMatchObject({ outcome: 'released' });
  });

  it('is rejected if there is no verified artifact', async () => {
    const fresh = harness.newTarget();
    const { canary, production } = await line();
    expect(await promotions.promote(fresh, production)).toMatchObject({
      outcome: 'rejected',
      reason: '"canary" has never taken a release',
    });
    const gate = canary.world.gate('uploadArtifact');
    const { releaseId } = await canary.submit('c', { soakMs: DAY_MS });
    await canary.progressOnce(releaseId, ({ steps }) => steps.some(({ step }) => step === 'upload'));
    await canary.say(releaseId, 'skip', { ...BO, what: 'greets' });
    gate.open();
    await canary.progressOnce(releaseId, ({ steps }) => steps.some(({ step }) => step === 'check'));
    await canary.say(releaseId, 'skip', { ...BO, what: 'soak' });
    await canary.result(releaseId);
    const result = await promotions.promote(canary, production);
    expect(result.outcome).toBe('rejected');
    expect(result.reason).toContain('is not verified');
  });
});
