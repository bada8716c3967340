import { expect, it } from 'vitest';

import type { PromotionRequest } from '../../../src/domain/promotion/promotion.ts';
import { promotionIdAt } from '../../../src/domain/promotion/promotion.ts';
import { describePromotions } from '../promotion/describePromotions.ts';
import type { PromotionUnderTest } from '../promotion/promotionsUnderTest.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import { keep } from './keep.ts';

const approval = { required: 1, withinMs: 3_600_000, identity: 'oidc' } as const;

describePromotions('a promotion to a target that requires proofs', ({ promotions, line }) => {
  it('continues after another person’s verified approval, and records that person', async () => {
    const { canary, production } = await line();
    const changes = { approval, ...asked(production, 'cy') };
    const promotion = await waiting(await promotions.start(canary, production, changes));
    const own = promotion.say('approve', approvedBy(production, 'cy'));
    await expect(own).rejects.toMatchObject({
      cause: { message: 'the person who asked for it cannot approve it' },
    });
    await expect(promotion.say('approve', { who: 'bo@example.com' })).rejects.toMatchObject({
      cause: { message: expect.stringContaining('requires proof of identity') as string },
    });
    await promotion.say('approve', approvedBy(production, 'bo'));
    expect(await promotion.result()).toMatchObject({
      outcome: 'released',
      requestedBy: { who: 'cy@example.com', proved: { subject: 'cy' } },
      interventions: [
        { kind: 'approve', taken: false },
        { kind: 'approve', taken: true, by: { who: 'bo@example.com', proved: { subject: 'bo' } } },
      ],
    });
    const { lastRequest } = (await production.view()).state;
    expect(lastRequest).toMatchObject({
      approval: { required: 0, identity: 'oidc' },
      requestedBy: { who: 'cy@example.com' },
    });
  });

  it('ends before it soaks if a person requested it without a proof', async () => {
    const { canary, production } = await line();
    const result = await promotions.promote(canary, production, { approval, soakMs: 3_600_000 });
    expect(result).toMatchObject({ outcome: 'aborted', reason: expect.stringContaining('cannot be proved') });
    expect(production.world.count('patchDeployment')).toBe(0);
  });

  it('requires no proof of its schedule', async () => {
    const { canary, production } = await line();
    const schedule = {
      jitterMs: 0,
      overlap: 'skip',
      catchUpMs: 60_000,
      timeZone: 'UTC',
      cron: '0 9 * * *',
    } as const;
    const promotion = await waiting(await promotions.start(canary, production, { approval }, schedule));
    await promotion.say('approve', approvedBy(production, 'bo'));
    const result = await promotion.result();
    expect(result).toMatchObject({ outcome: 'released', requestedBy: { who: 'cy' } });
    expect(result.requestedBy).not.toHaveProperty('proved');
  });
});

async function waiting(promotion: PromotionUnderTest): Promise<PromotionUnderTest> {
  await promotion.waitsFor('approval');
  return promotion;
}

function asked(to: TargetUnderTest, who: string): Pick<PromotionRequest, 'asked'> {
  const requestId = `${who} promotes`;
  const statement = { action: 'promote', workflowId: workflowIdOf(to), requestId } as const;
  return { asked: { requestId, identity: keep(to, who, statement) } };
}

function approvedBy(to: TargetUnderTest, who: string) {
  const requestId = `${who} approves`;
  const statement = { action: 'approve', workflowId: workflowIdOf(to), requestId } as const;
  return { requestId, who: 'claimed', identity: keep(to, who, statement) };
}

function workflowIdOf(to: TargetUnderTest): string {
  return promotionIdAt(to.workflowId, 'canary-to-production');
}
