import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, expect, inject, it } from 'vitest';

import { releaseAddress } from '../../../src/dashboard/page/addresses.ts';
import type { TargetUnderTest } from '../../workflows/targetUnderTest.ts';
import { type Harness, openHarness } from '../../workflows/harness.ts';
import { DashboardUnderTest, LOOKS, overflow, screenshot, violations } from './dashboardUnderTest.ts';

const WIDE = { width: 1440 };

let harness: Harness;
let dashboard: DashboardUnderTest;
beforeAll(async () => {
  const id = randomUUID();
  harness = await openHarness({
    address: inject('temporalAddress'),
    workflowBundle: inject('workflowBundle'),
    taskQueue: `queue-${id}`,
    nameWorld: (number) => `world-${id}-${number}`,
  });
  dashboard = await DashboardUnderTest.open(inject('temporalAddress'), `queue-${id}`);
});
afterAll(async () => {
  await dashboard.close();
  await Promise.all(harness.targets.map((target) => target.terminate()));
  await harness.close();
});

/** A request under a name of the target's own. */
function named(target: TargetUnderTest, name: string, artifact: string, changes = {}) {
  const request = target.request(artifact, { commit: `${artifact.repeat(4)}c0ffee42`, ...changes });
  return { ...request, target: { ...request.target, name } };
}

it('shows what serves, what runs with its steps moving, and who is needed, at every width and color', async () => {
  const production = harness.newTarget();
  await production.release(named(production, 'production', 'a'));
  await production.release(named(production, 'production', 'b'));
  production.world.bad.add(
    named(production, 'production', 'c').artifact.kind === 'tarball' ? digestOf('c') : '',
  );
  await production.release(named(production, 'production', 'c'));
  const staging = harness.newTarget();
  await staging.release(named(staging, 'staging', 'a'));
  const gate = staging.world.gate('runCheck');
  const { releaseId } = await staging.submit(named(staging, 'staging', 'b'));
  await staging.progressOnce(releaseId, ({ steps }) => steps.at(-1)?.step === 'check');
  const canary = harness.newTarget();
  const asked = await canary.submit(
    named(canary, 'canary', 'a', {
      approval: { required: 1, approvers: ['grace', 'lin'], withinMs: 3_600_000 },
    }),
  );
  await canary.progressOnce(asked.releaseId, ({ waiting }) => waiting?.for === 'approval');

  for (const look of LOOKS) {
    const page = await dashboard.page('/', look);
    await page.getByRole('heading', { name: 'canary' }).waitFor();
    await page.getByText('waits for approval').first().waitFor();
    const name = `targets-${look.width}${look.dark === true ? '-dark' : ''}`;
    await screenshot(page, name);
    expect(await overflow(page), name).toBeLessThanOrEqual(0);
    expect(await violations(page), name).toEqual([]);
    await page.context().close();
  }

  const page = await dashboard.page('/', WIDE);
  const card = page.getByRole('article', { name: 'staging' });
  await card.getByText('releasing').waitFor();
  await card.getByText('running: ').waitFor({ state: 'attached' });
  gate.open();
  await card.getByText('serving', { exact: true }).waitFor();
  expect(await card.locator('.serving').textContent()).toContain(releaseId);
  await page.context().close();

  for (const look of LOOKS) {
    const story = await dashboard.page(releaseAddress(production.workflowId, 'release-3'), look);
    const name = `story-${look.width}${look.dark === true ? '-dark' : ''}`;
    await story.getByRole('heading', { name: 'What was restored' }).waitFor();
    await screenshot(story, name);
    expect(await overflow(story), name).toBeLessThanOrEqual(0);
    expect(await violations(story), name).toEqual([]);
    await story.context().close();
    const target = await dashboard.page(`/targets/${encodeURIComponent(production.workflowId)}`, look);
    await screenshot(target, `target-${look.width}${look.dark === true ? '-dark' : ''}`);
    expect(await overflow(target), name).toBeLessThanOrEqual(0);
    expect(await violations(target), name).toEqual([]);
    await target.context().close();
  }
});

function digestOf(artifact: string): string {
  return `sha256:${Buffer.from(artifact).toString('hex').padEnd(64, '0')}`;
}
