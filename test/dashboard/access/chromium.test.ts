import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import { readAccessSettings } from '../../../src/dashboard/access/accessSettings.ts';
import { CHROMIUM, launchChromium } from '../../support/chromium.ts';
import { bundlePageFiles, startTestDashboard } from '../testDashboard.ts';
import { startIssuer, type TestIssuer } from './testIssuer.ts';
import { startService } from '../../clients/faultyService.ts';
import { useFolder } from '../../support/temporaryFolder.ts';
import { violations } from '../browser/dashboardUnderTest.ts';
import type { Listening } from '../../../src/dashboard/listen.ts';

const KEY = 'a key that a small team shares';

const folder = useFolder();
let browser: Browser;
let page: Page;
let dashboard: Listening;

describe.skipIf(CHROMIUM === undefined)('in a browser', () => {
  beforeAll(async () => {
    await bundlePageFiles(folder);
    browser = await launchChromium();
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    await page.context().close();
    await dashboard.close();
  });

  it('a person signs in with the key, and out again, without a mouse', async () => {
    await start({ SLIPWAY_DASHBOARD_KEY: KEY });
    await page.goto(`${dashboard.url}/you`);
    expect(await violations(page)).toEqual([]);
    await tabTo('Your name');
    await page.keyboard.type('Ada');
    await page.keyboard.press('Tab');
    await page.keyboard.type(KEY);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Ada' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/you');
    expect(await violations(page)).toEqual([]);
    await tabTo('Sign out');
    await page.keyboard.press('Enter');
    await page.getByText('You are signed out').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.goto(`${dashboard.url}/you`);
    expect(new URL(page.url()).pathname).toBe('/sign-in');
  });

  it('a wrong key leads to an error page, and back to the form', async () => {
    await start({ SLIPWAY_DASHBOARD_KEY: KEY });
    await page.goto(dashboard.url);
    await page.getByLabel('Your name').fill('Ada');
    await page.getByLabel('Key', { exact: true }).fill('another');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('SLIPWAY_SIGN_IN_FAILED').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('Key', { exact: true }).waitFor();
  });

  it('scripts of the page cannot read the session', async () => {
    await start({});
    await page.goto(`${dashboard.url}/you`);
    expect(await page.context().cookies()).toMatchObject([{ httpOnly: true, sameSite: 'Lax' }]);
    expect(await page.evaluate('document.cookie')).toBe('');
  });

  it('a form of another site has no effect', async () => {
    await start({});
    await page.goto(`${dashboard.url}/you`);
    const other = await startService((_request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<form method="post" action="${dashboard.url}/sign-out"><button>Win</button></form>`);
    });
    // Another port of the same host: the browser sends the session with it.
    await page.goto(other.url);
    await page.getByRole('button', { name: 'Win' }).click();
    await page.getByText('SLIPWAY_CROSS_SITE_REQUEST').waitFor();
    expect(await page.getByText('the request came from another site').count()).toBe(1);
  });

  describe('with OIDC', () => {
    let issuer: TestIssuer;
    beforeAll(async () => {
      issuer = await startIssuer();
    });
    afterAll(async () => {
      vi.restoreAllMocks();
      await issuer.close();
    });

    it('a person signs in at the issuer, returns to the same page, and signs out at both', async () => {
      await start(issuer.environment);
      issuer.register(`${dashboard.url}/sign-in/callback`);
      await page.goto(`${dashboard.url}/you`);
      await page.locator('[name=login]').fill('ada');
      await page.locator('[name=password]').fill('any');
      await page.locator('[type=submit]').click();
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('heading', { name: 'ada@example.com' }).waitFor();
      expect(await page.getByText('proved by sign-in').count()).toBe(1);
      expect(new URL(page.url()).pathname).toBe('/you');
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('link', { name: 'Sign out there too' }).click();
      await page.locator('[name=logout]').click();
      await page.getByText('You are signed out').waitFor();
      await page.getByRole('link', { name: 'Sign in', exact: true }).click();
      await page.locator('[name=login]').waitFor();
    });
  });
});

async function start(environment: Readonly<Record<string, string>>): Promise<void> {
  const access = readAccessSettings(environment, '127.0.0.1');
  dashboard = await startTestDashboard(folder, { access });
  page = await (await browser.newContext()).newPage();
}

/** Presses Tab until the element with this label has the focus. */
async function tabTo(label: string): Promise<void> {
  const wanted = page.getByLabel(label).or(page.getByRole('button', { name: label }));
  for (let presses = 0; presses < 20; presses++) {
    await page.keyboard.press('Tab');
    if ((await wanted.and(page.locator(':focus')).count()) > 0) return;
  }
  throw new Error(`Tab does not lead to "${label}".`);
}
