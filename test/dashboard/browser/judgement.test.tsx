import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { PageEnv } from '../../../src/dashboard/access/session.ts';
import { protectiveHeaders } from '../../../src/dashboard/app.ts';
import { renderPages } from '../../../src/dashboard/page/layout.tsx';
import { loadPageFiles } from '../../../src/dashboard/pageFiles.ts';
import { JudgeDetails } from '../../../src/dashboard/promotions/judgement.tsx';
import { CHROMIUM, launchChromium } from '../../support/chromium.ts';
import { bundlePageFiles } from '../bundlePageFiles.ts';
import { judgedReport, someTrials } from '../promotions/judgedReport.ts';
import { LOOKS, overflow, screenshot, violations } from './dashboardUnderTest.ts';

describe.skipIf(CHROMIUM === undefined)('in a browser', () => {
  let folder: string;
  let server: Server;
  let url: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'slipway-page-'));
    await bundlePageFiles(folder);
    const files = await loadPageFiles(folder);
    const app = new Hono<PageEnv>().use(protectiveHeaders, renderPages(files)).route('/', files.routes);
    app.get('/', (c) =>
      c.render(
        <>
          <h1>A promotion</h1>
          <JudgeDetails report={judgedReport()} trials={someTrials()} />
        </>,
        { title: 'Judge', charts: true },
      ),
    );
    const answer = getRequestListener(app.fetch);
    server = createServer((request, response) => void answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  });

  it('draws both distributions under the page’s own policy, at every width and color', async () => {
    const browser = await launchChromium();
    try {
      for (const { width, dark = false } of LOOKS) {
        const context = await browser.newContext({
          viewport: { width, height: 900 },
          colorScheme: dark ? 'dark' : 'light',
        });
        const page = await context.newPage();
        const refused: string[] = [];
        page.on('console', (message) => refused.push(message.text()));
        await page.goto(url);
        await page.locator('figure canvas').waitFor();
        const name = `judge-${width}${dark ? '-dark' : ''}`;
        await screenshot(page, name);
        expect(refused, name).toEqual([]);
        expect(await overflow(page), name).toBeLessThanOrEqual(0);
        expect(await violations(page), name).toEqual([]);
        await context.close();
      }
    } finally {
      await browser.close();
    }
  });
});
