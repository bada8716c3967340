import { connect, createServer, type Socket } from 'node:net';

import type { Page } from 'playwright-core';
import { describe, expect, it, vi } from 'vitest';

import { releaseAddress } from '../../../src/domain/dashboard/addresses.ts';
import { holdUpdate } from '../../../src/messages/target.ts';
import { identity } from '../../workflows/requests.ts';
import type { TargetUnderTest } from '../../workflows/targetUnderTest.ts';
import { CHROMIUM } from '../../support/chromium.ts';
import { listen } from '../../support/listen.ts';
import { expectFits, LOOKS, WAITS_MS } from './dashboardUnderTest.ts';
import { useStage } from './stage.ts';

describe.skipIf(CHROMIUM === undefined).concurrent('in a browser', () => {
  const WIDE = { width: 1440 };
  const ALONE = { concurrent: false };

  const stage = useStage();

  function named(target: TargetUnderTest, name: string, artifact: string, changes = {}) {
    const request = target.request(artifact, { commit: `${artifact.repeat(4)}c0ffee42`, ...changes });
    return { ...request, target: { ...request.target, name } };
  }

  it('shows the serving revision, the running steps live, and who is needed, at every width and color', async () => {
    const { harness, dashboard } = stage();
    const production = harness.newTarget();
    await production.release(named(production, 'production', 'a'));
    await production.release(named(production, 'production', 'b'));
    production.world.bad.add(identity('c'));
    await production.release(named(production, 'production', 'c'));
    const reason = `see https://example.com/${'incidents-'.repeat(20)}`;
    await production.handle.executeUpdate(holdUpdate, { args: [{ who: 'ada', reason }] });
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
    await canary.waitsFor(asked.releaseId, 'approval');

    for (const look of LOOKS) {
      const page = await dashboard.page('/', look);
      await page.getByRole('heading', { name: 'canary' }).waitFor();
      await page.getByText('waits for approval').first().waitFor();
      await expectFits(page, `targets-${look.name}`);
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
      await story.getByRole('heading', { name: 'What was restored' }).waitFor();
      await expectFits(story, `story-${look.name}`);
      await story.context().close();
      const target = await dashboard.page(`/targets/${encodeURIComponent(production.workflowId)}`, look);
      await expectFits(target, `target-${look.name}`);
      await target.context().close();
    }
  });

  it('works without a mouse', async () => {
    const { harness, dashboard } = stage();
    const target = harness.newTarget();
    await target.release(named(target, 'by-keyboard', 'a'));
    const page = await dashboard.page('/', WIDE);
    await page.getByRole('heading', { name: 'by-keyboard' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Skip to content');
    await page.keyboard.press('Enter');
    for (let presses = 0; (await focused(page)) !== 'by-keyboard' && presses < 60; presses++) {
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'by-keyboard' }).waitFor();
    await page.context().close();
  });

  it('keeps the focus and the scroll position of a table when the page changes', async () => {
    const { harness, dashboard } = stage();
    const target = harness.newTarget();
    await target.release(named(target, 'scrolled', 'a'));
    const page = await dashboard.page(`/targets/${encodeURIComponent(target.workflowId)}`, { width: 360 });
    const revisions = page.getByRole('region', { name: 'Revisions' });
    await revisions.focus();
    await page.evaluate('document.activeElement.scrollTo(40, 0)');
    await target.release(named(target, 'scrolled', 'b'));
    await revisions.getByText('release-2').waitFor();
    const focused = '[document.activeElement.ariaLabel, document.activeElement.scrollLeft]';
    expect(await page.evaluate(focused)).toEqual(['Revisions', 40]);
    await page.context().close();
  });

  it('a target that appears stands in its order without a reload, and the focus stays', ALONE, async () => {
    const { harness, dashboard } = stage();
    const zulu = harness.newTarget();
    await zulu.release(named(zulu, 'zulu', 'a'));
    const page = await dashboard.page('/', WIDE);
    const link = page.getByRole('article', { name: 'zulu' }).getByRole('link', { name: 'zulu' });
    await link.focus();
    const alfa = harness.newTarget();
    await alfa.release(named(alfa, 'alfa', 'a'));
    await page.getByRole('article', { name: 'alfa' }).waitFor();
    await vi.waitFor(async () => {
      const names = await page.locator('#targets h2').allTextContents();
      expect(names.indexOf('alfa')).toBeLessThan(names.indexOf('zulu'));
    }, WAITS_MS);
    expect(await focused(page)).toBe('zulu');
    await page.context().close();
  });

  it('counts times by the server’s clock if that of the browser is wrong', ALONE, async () => {
    const { harness, dashboard } = stage();
    const target = harness.newTarget();
    await target.release(named(target, 'timed', 'a'));
    const page = await dashboard.page(`/targets/${encodeURIComponent(target.workflowId)}`, WIDE);
    await page.addInitScript('const now = Date.now; Date.now = () => now() + 7_200_000;');
    await page.reload();
    const ended = page.locator('#past time').first();
    await vi.waitFor(
      async () => expect(await ended.textContent()).toMatch(/^now$|seconds? ago|minutes? ago/),
      WAITS_MS,
    );
    await page.context().close();
  });

  it('prints whole texts and tables, without buttons', ALONE, async () => {
    const { harness, dashboard } = stage();
    const target = harness.newTarget();
    await target.release(named(target, 'printed', 'a'));
    for (const path of [
      releaseAddress(target.workflowId, 'release-1'),
      `/targets/${encodeURIComponent(target.workflowId)}`,
    ]) {
      const page = await dashboard.page(path, WIDE);
      await page.emulateMedia({ media: 'print' });
      const cut = `[...document.querySelectorAll('pre, .scroll')].map((part) => getComputedStyle(part)).filter(({ overflowX, overflowY, maxHeight }) =>
        overflowX !== 'visible' || overflowY !== 'visible' || maxHeight !== 'none').length`;
      expect(await page.evaluate(cut)).toBe(0);
      expect(await page.locator('pre, .scroll').count()).toBeGreaterThan(0);
      expect(await page.locator('.actions:visible, .top nav:visible').count()).toBe(0);
      await page.context().close();
    }
  });

  it('a long reason does not stretch its card, and the page of its target and paper have all of it', async () => {
    const { harness, dashboard } = stage();
    const target = harness.newTarget();
    await target.release(named(target, 'wordy', 'a'));
    const reason = `${'It answers nonsense. '.repeat(45)}The end.`;
    await target.handle.executeUpdate(holdUpdate, { args: [{ who: 'ada', reason }] });
    const isCut = `[...document.querySelectorAll('.condition')].some((part) => part.textContent.includes('The end.') && part.scrollHeight > part.clientHeight)`;
    const page = await dashboard.page('/', WIDE);
    const card = page.getByRole('article', { name: 'wordy' });
    await card.getByText('The end.').waitFor();
    expect((await card.boundingBox())?.height).toBeLessThan(450);
    expect(await page.evaluate(isCut)).toBe(true);
    await page.emulateMedia({ media: 'print' });
    expect(await page.evaluate(isCut)).toBe(false);
    await page.context().close();
    const whole = await dashboard.page(`/targets/${encodeURIComponent(target.workflowId)}`, WIDE);
    await whole.getByText('The end.').first().waitFor();
    expect(await whole.evaluate(isCut)).toBe(false);
    await whole.context().close();
  });

  it('connects again if its connection falls silent, as after sleep', ALONE, async () => {
    const { harness, dashboard } = stage();
    const target = harness.newTarget();
    await target.release(named(target, 'asleep', 'a'));
    const proxy = await openSilentProxy(new URL(dashboard.url).port);
    const page = await dashboard.page('/', WIDE);
    await page.clock.install();
    await page.goto(proxy.url);
    await page.getByRole('article', { name: 'asleep' }).getByText('serving', { exact: true }).waitFor();
    const before = proxy.opened();
    proxy.silence();
    await page.clock.fastForward(60_000);
    await vi.waitFor(() => expect(proxy.opened()).toBeGreaterThan(before), WAITS_MS);
    await page.context().close();
    await proxy.close();
  });

  it('shows everything without a script', async () => {
    const { harness, dashboard } = stage();
    const target = harness.newTarget();
    await target.release(named(target, 'plain', 'a'));
    const page = await dashboard.page('/', WIDE, false);
    const serving = page.getByRole('article', { name: 'plain' }).getByText('serving', { exact: true });
    // Temporal lists a new target with a delay.
    while (!(await serving.isVisible())) await page.reload();
    await page.getByRole('link', { name: 'plain' }).first().click();
    await page.getByRole('heading', { name: 'Revisions' }).waitFor();
    await page.context().close();
  });

  it('an open page continues after the server restarts', ALONE, async () => {
    const { harness, dashboard } = stage();
    const target = harness.newTarget();
    await target.release(named(target, 'restarted', 'a'));
    const page = await dashboard.page('/', WIDE);
    const card = page.getByRole('article', { name: 'restarted' });
    await card.getByText('serving', { exact: true }).waitFor();
    await dashboard.restart();
    const gate = target.world.gate('runCheck');
    await target.submit(named(target, 'restarted', 'b'));
    await card.getByText('releasing').waitFor();
    gate.open();
    await card.getByText('serving', { exact: true }).waitFor();
    await page.context().close();
  });

  function focused(page: Page): Promise<string> {
    return page.evaluate('document.activeElement?.textContent?.trim() ?? ""');
  }
});

/** A proxy whose streams can fall silent: they stay open, and nothing comes through. */
async function openSilentProxy(port: string) {
  const streams = new Map<Socket, { readonly page: Socket; isLive: boolean }>();
  let opened = 0;
  const server = createServer((browser) => {
    const stream = { page: connect(Number(port), '127.0.0.1'), isLive: false };
    streams.set(browser, stream);
    for (const socket of [browser, stream.page]) socket.on('error', () => undefined);
    browser.on('data', (chunk) => {
      stream.isLive = chunk.includes('GET /live/');
      if (stream.isLive) opened += 1;
    });
    browser.pipe(stream.page).pipe(browser);
  });
  const url = await listen(server);
  return {
    url,
    opened: () => opened,
    silence: () => {
      for (const [browser, { page, isLive }] of streams) {
        if (isLive) page.unpipe(browser);
        else browser.destroy();
      }
    },
    close: async () => {
      for (const [browser, { page }] of streams) {
        browser.destroy();
        page.destroy();
      }
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
