import { randomUUID } from 'node:crypto';

import { describe, it } from 'vitest';

import { promotionAddress } from '../../../src/domain/dashboard/addresses.ts';
import { CHROMIUM } from '../../support/chromium.ts';
import { expectFits, LOOKS } from './dashboardUnderTest.ts';
import { useStage } from './stage.ts';

describe.skipIf(CHROMIUM === undefined)('in a browser', () => {
  const stage = useStage();

  it('shows a promotion from target to target, live to its end', async () => {
    const { harness, promotions, dashboard } = stage();
    const { target: canary } = harness.newServingTarget();
    const { target: production } = harness.newServingTarget();
    await canary.release('b', { commit: 'c0ffee42' });
    const name = `up-${randomUUID().slice(0, 8)}`;
    const approval = { required: 1, approvers: ['grace'], withinMs: 3_600_000 };
    const promotion = await promotions.start(canary, production, { name, approval, soakMs: 1_000 });
    await promotion.waitsFor('approval');

    const overview = await dashboard.page('/', { width: 360 });
    const card = overview.getByRole('article', { name });
    await card.getByText('waits for approval').first().waitFor();
    await expectFits(overview, 'waiting-promotion');
    const { workflowId } = await promotion.history();
    for (const look of LOOKS) {
      const page = await dashboard.page('/promotions', look);
      await page.getByRole('link', { name }).waitFor();
      await expectFits(page, `promotions-${look.name}`);
      await page.goto(dashboard.url + promotionAddress(workflowId));
      await page.getByRole('heading', { name: 'Timeline' }).waitFor();
      await expectFits(page, `promotion-${look.name}`);
      await page.context().close();
    }

    const page = await dashboard.page(promotionAddress(workflowId), { width: 1440 });
    await page.getByText('waits for approval').first().waitFor();
    await promotion.say('approve', { who: 'grace' });
    await card.waitFor({ state: 'detached' });
    await overview.context().close();
    await page.getByText('promoted', { exact: true }).first().waitFor();
    await page.context().close();
  });
});
