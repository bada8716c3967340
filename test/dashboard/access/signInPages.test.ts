import { afterAll, beforeAll, expect, it } from 'vitest';

import { bundlePageFiles, startTestDashboard } from '../testDashboard.ts';
import { TestBrowser } from './testBrowser.ts';
import { tokenIn } from './testPage.ts';
import { useFolder } from '../../support/temporaryFolder.ts';
import type { Listening } from '../../../src/dashboard/listen.ts';

const KEY = 'a key that a small team shares';
const folder = useFolder();
let dashboard: Listening;
beforeAll(async () => {
  await bundlePageFiles(folder);
  dashboard = await startTestDashboard(folder, { access: { signIn: { way: 'key', key: KEY } } });
});
afterAll(() => dashboard.close());

it('the dashboard asks for the key, and then shows the person’s name as unverified', async () => {
  const browser = new TestBrowser();
  const form = await browser.open(`${dashboard.url}/you`);
  expect(form.text).toContain('<label for="key">Key</label>');
  const csrf = tokenIn(form.text);
  const name = '<b>Ada</b>';
  const seen = await browser.submit(`${dashboard.url}/sign-in`, { csrf, name, key: KEY, to: '/you' });
  expect(seen.url.pathname).toBe('/you');
  expect(seen.text).toContain('<h1>&lt;b&gt;Ada&lt;/b&gt;</h1>');
  expect(seen.text).toContain('nothing proves this name');
  const out = await browser.submit(`${dashboard.url}/sign-out`, { csrf: tokenIn(seen.text) });
  expect(out.text).toContain('You are signed out');
});

it('the dashboard shows an error in words, with its code and advice', async () => {
  const browser = new TestBrowser();
  const csrf = tokenIn((await browser.open(`${dashboard.url}/sign-in`)).text);
  const seen = await browser.submit(`${dashboard.url}/sign-in`, { csrf, name: 'Ada', key: 'another' });
  expect(seen.status).toBe(403);
  for (const part of ['the key is not the one', 'SLIPWAY_SIGN_IN_FAILED', 'ask the person who runs']) {
    expect(seen.text).toContain(part);
  }
  expect(seen.text).toContain('<a href="/sign-in">');
});
