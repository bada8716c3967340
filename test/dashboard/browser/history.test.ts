import { describe, expect, it } from 'vitest';

import { DEFINITIONS } from '../../../src/domain/delivery/measures.ts';
import { identity } from '../../workflows/requests.ts';
import type { TargetUnderTest } from '../../workflows/targetUnderTest.ts';
import { CHROMIUM } from '../../support/chromium.ts';
import { expectFits, LOOKS } from './dashboardUnderTest.ts';
import { useStage } from './stage.ts';

const LONG_NAME = 'staging'.padEnd(128, 's');
/** The widths of the table's region and of what it shows, in pixels. */
const WIDTHS =
  "[document.querySelector('.scroll:has(.history)')].flatMap((all) => [all.clientWidth, all.scrollWidth])";

describe.skipIf(CHROMIUM === undefined)('in a browser', () => {
  const stage = useStage();

  /** Releases an artifact on a target with a name. The commit is an hour old. */
  function release(target: TargetUnderTest, name: string, artifact: string) {
    const request = target.request(artifact, {
      commit: `${artifact.repeat(4)}c0ffee`,
      committedAt: new Date(Date.now() - 3_600_000).toISOString(),
    });
    return target.release({ ...request, target: { ...request.target, name } });
  }

  it('shows the releases of all targets, filtered by its form, and the four measures with their definitions', async () => {
    const { harness, dashboard } = stage();
    const [production, staging] = [harness.newTarget(), harness.newTarget()];
    for (const artifact of ['a', 'b']) await release(staging, LONG_NAME, artifact);
    production.world.bad.add(identity('c'));
    for (const artifact of ['a', 'b', 'c']) await release(production, 'production', artifact);

    const page = await dashboard.page('/history', { width: 1440 });
    const rows = page.locator('table.history tbody tr');
    await expect.poll(async () => (await page.reload(), rows.count())).toBe(5);
    expect(await rows.first().textContent()).toContain('rolled back');
    const time = rows.first().locator('time[data-tells=ago]').first();
    await time.click();
    expect(await time.textContent(), 'the exact time, after a tap').toContain(
      String(new Date().getUTCFullYear()),
    );
    const measures = page.getByRole('region', { name: 'Delivery measures' });
    for (const definition of Object.values(DEFINITIONS)) await measures.getByText(definition).waitFor();
    expect(await measures.textContent()).toContain('1 of 5 releases.');
    expect(await measures.textContent()).toContain('1h00m');
    expect(await measures.textContent()).toContain('1 restore.');

    await page.getByLabel('Target').selectOption('production');
    await page.getByLabel('Person').fill('ADA');
    await page.getByLabel('Commit').fill('bbbb');
    await page.keyboard.press('Enter');
    await page.waitForURL(/target=production/u);
    expect(await rows.count()).toBe(1);
    expect(await rows.first().textContent()).toContain('release-2');
    expect(await measures.textContent()).toContain('1 of 3 releases.');
    await page.getByRole('link', { name: 'release-2' }).click();
    await page.getByRole('heading', { name: 'release-2' }).waitFor();

    for (const look of LOOKS) {
      const looked = await dashboard.page('/history', look);
      await looked.getByRole('heading', { name: 'Delivery measures' }).waitFor();
      await expectFits(looked, `history-${look.name}`);
      const [window, content] = await looked.evaluate<[number, number]>(WIDTHS);
      if (look.width === 360) expect(content).toBe(window);
      await looked.context().close();
    }
  });
});
