import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';

import type { SignIn } from '../../../src/dashboard/access/accessSettings.ts';
import type { Listening } from '../../../src/dashboard/listen.ts';
import { startDashboard } from '../../../src/dashboard/server.ts';
import { connectTemporal, type TemporalConnection } from '../../../src/temporal/client/connection.ts';
import { launchChromium } from '../../support/chromium.ts';
import { bundlePageFiles } from '../bundlePageFiles.ts';

/** The window and colors in which a page is viewed. */
export interface Look {
  readonly width: number;
  readonly dark?: boolean;
}

/** Both widths, each in both color schemes. */
export const LOOKS: readonly Look[] = [1440, 360].flatMap((width) => [{ width }, { width, dark: true }]);

const GRACE: SignIn = { way: 'none', user: 'grace' };
/** Where to save screenshots. Absent: none are saved. */
const SCREENSHOTS = process.env['SLIPWAY_SCREENSHOTS'];

/** A dashboard on the tests' Temporal, and a real Chromium that views it. */
export class DashboardUnderTest {
  readonly #browser: Browser;
  readonly #temporal: TemporalConnection;
  readonly #folder: string;
  readonly #signIn: SignIn;
  #dashboard: Listening;

  private constructor(
    browser: Browser,
    temporal: TemporalConnection,
    folder: string,
    signIn: SignIn,
    dashboard: Listening,
  ) {
    this.#signIn = signIn;
    this.#browser = browser;
    this.#temporal = temporal;
    this.#folder = folder;
    this.#dashboard = dashboard;
  }

  /** @param signIn - how people sign in. Default: no sign-in; the user is grace. */
  static async open(address: string, taskQueue: string, signIn: SignIn = GRACE): Promise<DashboardUnderTest> {
    const folder = await mkdtemp(join(tmpdir(), 'slipway-page-'));
    await bundlePageFiles(folder);
    const temporal = await connectTemporal({
      address,
      namespace: 'default',
      taskQueue,
      origin: 'environment',
      connectionOptions: { address },
      ui: 'http://127.0.0.1:8233',
      dashboard: null,
    });
    const browser = await launchChromium();
    return new DashboardUnderTest(
      browser,
      temporal,
      folder,
      signIn,
      await start(temporal, folder, signIn, 0),
    );
  }

  get url(): string {
    return this.#dashboard.url;
  }

  /** Stops the server and starts another one at its address. */
  async restart(): Promise<void> {
    const { port } = new URL(this.url);
    await this.#dashboard.close();
    this.#dashboard = await start(this.#temporal, this.#folder, this.#signIn, Number(port));
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
    const page = await context.newPage();
    await page.goto(this.url + path);
    return page;
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.#dashboard.close();
    await this.#temporal.close();
    await rm(this.#folder, { recursive: true });
  }
}

function start(
  temporal: TemporalConnection,
  folder: string,
  signIn: SignIn,
  port: number,
): Promise<Listening> {
  return startDashboard({
    temporal,
    home: folder,
    environment: {},
    host: '127.0.0.1',
    port,
    access: { signIn },
    filesFolder: folder,
  });
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

/** How much wider a page is than its window, in pixels. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
}
