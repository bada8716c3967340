import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';

import type { SignIn } from '../../../src/dashboard/access/accessSettings.ts';
import type { Listening } from '../../../src/dashboard/listen.ts';
import { connectTemporal, type TemporalConnection } from '../../../src/temporal/client/connection.ts';
import { startedTemporal } from '../../../src/temporal/client/temporalSettings.ts';
import { launchChromium } from '../../support/chromium.ts';
import { bundlePageFiles, startTestDashboard } from '../testDashboard.ts';

/** The window and colors in which a page is viewed. */
export interface Look {
  readonly width: number;
  readonly dark?: boolean;
}

/** Both widths, each in both color schemes, with names for their screenshots. */
export const LOOKS: readonly (Look & { readonly name: string })[] = [1440, 360].flatMap((width) => [
  { width, name: String(width) },
  { width, dark: true, name: `${width}-dark` },
]);

/** How long a page is waited for, in milliseconds. Playwright's default, 30 s, is too short on a busy machine. */
export const WAITS_MS = 120_000;

const GRACE: SignIn = { way: 'none', user: 'grace' };
/** Where to save screenshots. Absent: none are saved. */
const SCREENSHOTS = process.env['SLIPWAY_SCREENSHOTS'];

interface Options {
  readonly temporal: TemporalConnection;
  readonly access: { readonly signIn: SignIn };
}

/** A dashboard on the tests' Temporal, and a real Chromium that views it. */
export class DashboardUnderTest {
  readonly #browser: Browser;
  readonly #folder: string;
  readonly #options: Options;
  #dashboard: Listening;

  private constructor(browser: Browser, folder: string, options: Options, dashboard: Listening) {
    this.#browser = browser;
    this.#folder = folder;
    this.#options = options;
    this.#dashboard = dashboard;
  }

  /** @param signIn - how people sign in. Default: no sign-in; the user is grace. */
  static async open(address: string, taskQueue: string, signIn: SignIn = GRACE): Promise<DashboardUnderTest> {
    const folder = await mkdtemp(join(tmpdir(), 'slipway-page-'));
    await bundlePageFiles(folder);
    const settings = startedTemporal({ address, namespace: 'default', taskQueue });
    const temporal = await connectTemporal({ ...settings, ui: 'http://127.0.0.1:8233' });
    const options = { temporal, access: { signIn } };
    const dashboard = await startTestDashboard(folder, options);
    return new DashboardUnderTest(await launchChromium(), folder, options, dashboard);
  }

  get url(): string {
    return this.#dashboard.url;
  }

  /** Stops the server and starts another one at its address. */
  async restart(): Promise<void> {
    const port = Number(new URL(this.url).port);
    await this.#dashboard.close();
    this.#dashboard = await startTestDashboard(this.#folder, { ...this.#options, port });
  }

  /** A new browser that shows a page. Every console message is an error. */
  async page(path: string, { width, dark = false }: Look, javaScriptEnabled = true): Promise<Page> {
    const context = await this.#browser.newContext({
      viewport: { width, height: width > 600 ? 900 : 740 },
      colorScheme: dark ? 'dark' : 'light',
      javaScriptEnabled,
      timezoneId: 'UTC',
      locale: 'en-US',
    });
    context.setDefaultTimeout(WAITS_MS);
    const page = await context.newPage();
    await page.goto(this.url + path);
    return page;
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.#dashboard.close();
    await this.#options.temporal.close();
    await rm(this.#folder, { recursive: true });
  }
}

/** The violations that axe finds in a page, as sentences. */
export async function violations(page: Page): Promise<string[]> {
  // Evaluated by the browser itself, because the page's policy forbids scripts from elsewhere.
  await page.evaluate(axe.source);
  const found = await page.evaluate<Found>('axe.run()');
  return found.violations.map(({ id, help, nodes }) => {
    return `${id}: ${help} (${nodes.map(({ target }) => String(target)).join(', ')})`;
  });
}

interface Found {
  readonly violations: readonly { id: string; help: string; nodes: readonly { target: unknown }[] }[];
}

/** Saves a screenshot of the whole page if they are enabled. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  await mkdir(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}

/** Saves a screenshot of a page, which is no wider than its window and has no violations. */
export async function expectFits(page: Page, name: string): Promise<void> {
  await screenshot(page, name);
  const overflow = 'document.documentElement.scrollWidth - window.innerWidth';
  expect(await page.evaluate(overflow), name).toBeLessThanOrEqual(0);
  expect(await violations(page), name).toEqual([]);
}

export async function press(page: Page, button: string, reason: string): Promise<void> {
  await page.getByLabel('Reason').fill(reason);
  await page.getByRole('button', { name: button, exact: true }).click();
}

/** Waits until a page exists: Temporal lists a new target with a delay. */
export async function listed(page: Page, url: string): Promise<void> {
  const status = async () => (await page.context().request.get(url)).status();
  await expect.poll(status).toBe(200);
}
