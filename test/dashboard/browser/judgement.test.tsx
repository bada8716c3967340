import { createServer, type Server } from 'node:http';

import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { PageEnv } from '../../../src/dashboard/access/session.ts';
import { protectiveHeaders } from '../../../src/dashboard/server.ts';
import { renderPages } from '../../../src/dashboard/page/layout.tsx';
import { loadPageFiles } from '../../../src/dashboard/pageFiles.ts';
import { JudgeDetails } from '../../../src/dashboard/promotions/judgement.tsx';
import { CHROMIUM, launchChromium } from '../../support/chromium.ts';
import { closeServer, listen } from '../../support/listen.ts';
import { useFolder } from '../../support/temporaryFolder.ts';
import { bundlePageFiles } from '../testDashboard.ts';
import { judgedReport, someTrials } from '../promotions/judgedReport.ts';
import { expectFits, LOOKS, WAITS_MS } from './dashboardUnderTest.ts';

describe.skipIf(CHROMIUM === undefined)('in a browser', () => {
  const folder = useFolder();
  let server: Server;
  let url: string;
  beforeAll(async () => {
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
    url = await listen(server);
  });
  afterAll(() => closeServer(server));

  it('draws both distributions under the page’s own policy, at every width and color', async () => {
    const browser = await launchChromium();
    try {
      for (const { width, dark = false, name } of LOOKS) {
        const context = await browser.newContext({
          viewport: { width, height: 900 },
          colorScheme: dark ? 'dark' : 'light',
        });
        context.setDefaultTimeout(WAITS_MS);
        const page = await context.newPage();
        const refused: string[] = [];
        page.on('console', (message) => refused.push(message.text()));
        await page.goto(url);
        await page.locator('figure canvas').waitFor();
        expect(refused, name).toEqual([]);
        await expectFits(page, `judge-${name}`);
        await context.close();
      }
    } finally {
      await browser.close();
    }
  });
});
