import { userInfo } from 'node:os';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Attempts } from '../../../src/dashboard/access/keySignIn.ts';
import { TestBrowser } from './testBrowser.ts';
import { accessApp, startPage, type TestPage, tokenIn } from './testPage.ts';

const KEY = 'a key that a small team shares';
let page: TestPage | undefined;

afterEach(async () => {
  vi.useRealTimers();
  await page?.close();
  page = undefined;
});

describe('signing in with a key', () => {
  it('accepts the person’s name, unverified, with the role release', async () => {
    const { url, browser } = await start();
    const form = await browser.open(`${url}/targets?x=1`);
    expect(form.url.pathname).toBe('/sign-in');
    const seen = await browser.submit(`${url}/sign-in`, {
      csrf: tokenIn(form.text),
      to: '/targets?x=1',
      name: ' Ada ',
      key: KEY,
    });
    expect(seen.url.href).toBe(`${url}/targets?x=1`);
    expect(JSON.parse((await browser.open(`${url}/who`)).text)).toEqual({
      name: 'Ada',
      proved: false,
      role: 'release',
    });
  });

  it.each([
    ['another key', { name: 'Ada', key: `${KEY}!` }, 'the key is not the one'],
    ['no key', { name: 'Ada' }, 'the key is not the one'],
    ['no name', { name: ' ', key: KEY }, 'the name is missing'],
    ['a name of two lines', { name: 'Ada\nadmin', key: KEY }, 'the name is missing'],
  ])('rejects %s', async (_what, fields, why) => {
    const { url, browser, csrf } = await start();
    const seen = await browser.submit(`${url}/sign-in`, { csrf, ...fields });
    expect([seen.status, seen.text]).toEqual([
      403,
      expect.stringContaining(`SLIPWAY_SIGN_IN_FAILED: ${why}`),
    ]);
    expect(seen.text).not.toContain(KEY);
    expect((await browser.open(`${url}/who`)).url.pathname).toBe('/sign-in');
  });

  it('checks no further key after ten wrong ones, not even a valid one, until 10 minutes have passed', async () => {
    const { url, browser, csrf } = await start();
    const attempt = async (key: string) =>
      await browser.submit(`${url}/sign-in`, { csrf, name: 'Ada', key }, {}, () => true);
    // All at once, as an attacking program would.
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => (await attempt(`wrong key number ${index}`)).status),
    );
    expect(statuses.filter((status) => status === 403)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    const limited = await attempt(KEY);
    expect([limited.status, limited.text]).toEqual([429, expect.stringContaining('SLIPWAY_SIGN_IN_LIMITED')]);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(500);
  });

  it('counts wrong keys for the client that a trusted proxy reports, and for an untrusted proxy itself', async () => {
    const afterTen = async (environment: Readonly<Record<string, string>>): Promise<number> => {
      const { url, browser, csrf } = await start(environment);
      const attempt = async (key: string, client: string) =>
        (
          await browser.submit(
            `${url}/sign-in`,
            { csrf, name: 'Ada', key },
            { 'x-forwarded-for': `192.0.2.1, ${client}` },
            () => true,
          )
        ).status;
      for (let index = 0; index < 10; index++) await attempt('a wrong key', '203.0.113.9');
      expect(await attempt(KEY, '203.0.113.9')).toBe(429);
      return await attempt(KEY, '203.0.113.10');
    };
    expect(await afterTen({ SLIPWAY_TRUSTED_PROXIES: '127.0.0.1' })).toBe(303);
    await page?.close();
    expect(await afterTen({})).toBe(429);
  });

  it('starts a new session, so that a prepared one is invalid', async () => {
    const { url, browser, csrf } = await start();
    const host = new URL(url).host;
    const prepared = new Map(browser.cookies.get(host));
    await browser.submit(`${url}/sign-in`, { csrf, name: 'Ada', key: KEY });
    const other = new TestBrowser();
    other.cookies.set(host, prepared);
    expect((await other.open(`${url}/who`)).url.pathname).toBe('/sign-in');
    const form = await browser.open(`${url}/form`);
    expect(tokenIn(form.text)).not.toBe(csrf);
  });

  it('answers scripts and forms without a sign-in with 401', async () => {
    const app = accessApp({ SLIPWAY_DASHBOARD_KEY: KEY });
    const answer = await app.request('/who', { headers: { host: 'localhost' } });
    expect([answer.status, await answer.text()]).toEqual([
      401,
      expect.stringContaining('SLIPWAY_SIGNED_OUT'),
    ]);
  });

  it('makes an open page without a sign-in load itself again, which leads to the sign-in', async () => {
    const app = accessApp({ SLIPWAY_DASHBOARD_KEY: KEY });
    const answer = await app.request('/live', {
      headers: { host: 'localhost', accept: 'text/event-stream' },
    });
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(await answer.text()).toContain('event: version\ndata: none\n\n');
  });

  it('ends with a sign-out', async () => {
    const { url, browser, csrf: before } = await start();
    await browser.submit(`${url}/sign-in`, { csrf: before, name: 'Ada', key: KEY });
    const csrf = tokenIn((await browser.open(`${url}/form`)).text);
    expect((await browser.submit(`${url}/sign-out`, { csrf })).url.pathname).toBe('/signed-out');
    expect((await browser.open(`${url}/who`)).url.pathname).toBe('/sign-in');
  });
});

describe('a session', () => {
  const environment = {
    SLIPWAY_DASHBOARD_KEY: KEY,
    SLIPWAY_DASHBOARD_SECRET: 'what sessions are sealed with',
  };

  it('survives a restart with SLIPWAY_DASHBOARD_SECRET, and ends without it, or with another key', async () => {
    const kept = await cookieOf(environment);
    expect(await isKnown(environment, kept)).toBe(true);
    expect(await isKnown({ SLIPWAY_DASHBOARD_KEY: KEY }, kept)).toBe(false);
    expect(await isKnown({ ...environment, SLIPWAY_DASHBOARD_KEY: `${KEY}, changed` }, kept)).toBe(false);
  });

  it('is rejected if a byte of it was changed', async () => {
    const kept = await cookieOf(environment);
    for (const at of [kept.indexOf('=') + 1, kept.length - 3]) {
      const changed = `${kept.slice(0, at)}${kept[at] === 'A' ? 'B' : 'A'}${kept.slice(at + 1)}`;
      expect(await isKnown(environment, changed)).toBe(false);
    }
  });

  it('has a cookie that scripts cannot read, and other sites do not send', async () => {
    const app = accessApp({ SLIPWAY_DASHBOARD_KEY: KEY });
    const answer = await app.request('/sign-in', { headers: { host: 'localhost:4701' } });
    const [cookie = ''] = answer.headers.getSetCookie();
    expect(cookie).toMatch(/^slipway-session-4701=/);
    expect(cookie).toMatch(/; HttpOnly/);
    expect(cookie).toMatch(/; SameSite=Lax/);
    expect(cookie).toMatch(/; Path=\//);
    expect(cookie).not.toMatch(/Secure|Domain/);
  });

  it('has a cookie only for TLS and this host behind an https address', async () => {
    const app = accessApp({
      SLIPWAY_DASHBOARD_KEY: KEY,
      SLIPWAY_DASHBOARD_URL: 'https://slipway.example.com',
    });
    const answer = await app.request('/sign-in', { headers: { host: '127.0.0.1:4701' } });
    const [cookie = ''] = answer.headers.getSetCookie();
    expect(cookie).toMatch(/^__Host-slipway-session=/);
    for (const part of ['; Secure', '; HttpOnly', '; SameSite=Lax', '; Path=/'])
      expect(cookie).toContain(part);
    expect(cookie).not.toContain('Domain');
  });
});

describe('a request that changes something', () => {
  it.each([
    ['without a token', {}, {}],
    ['with another token', { csrf: 'another' }, {}],
    ['from another origin', 'right', { origin: 'https://evil.example' }],
    ['from an origin that the browser does not say', 'right', { origin: 'null' }],
    ['from another site, as the browser says', 'right', { 'sec-fetch-site': 'cross-site' }],
    ['from a neighboring host, as the browser says', 'right', { 'sec-fetch-site': 'same-site' }],
  ])('is rejected %s', async (_how, form, headers) => {
    page = await startPage({});
    const browser = new TestBrowser();
    const csrf = tokenIn((await browser.open(`${page.url}/form`)).text);
    const seen = await browser.submit(
      `${page.url}/press`,
      form === 'right' ? { csrf } : (form as Record<string, string>),
      headers,
    );
    expect([seen.status, seen.text]).toEqual([403, expect.stringContaining('SLIPWAY_CROSS_SITE_REQUEST')]);
  });

  it('leaves the session as it is if another site sent it, for which browsers send no cookie', async () => {
    const app = accessApp({ SLIPWAY_DASHBOARD_KEY: KEY });
    const answer = await app.request('/press', {
      method: 'POST',
      headers: { host: 'localhost', origin: 'https://evil.example' },
    });
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
  });

  it('is rejected with the token of another session', async () => {
    page = await startPage({});
    const [browser, other] = [new TestBrowser(), new TestBrowser()];
    await browser.open(`${page.url}/form`);
    const csrf = tokenIn((await other.open(`${page.url}/form`)).text);
    expect((await browser.submit(`${page.url}/press`, { csrf })).status).toBe(403);
  });

  it('is accepted from a form of the page', async () => {
    page = await startPage({});
    const browser = new TestBrowser();
    const csrf = tokenIn((await browser.open(`${page.url}/form`)).text);
    const text = `pressed by ${userInfo().username}`;
    expect((await browser.submit(`${page.url}/press`, { csrf })).text).toBe(text);
  });

  it('is rejected with a large body before it is read', async () => {
    page = await startPage({});
    const seen = await new TestBrowser().submit(`${page.url}/sign-out`, { csrf: 'x'.repeat(70_000) });
    expect(seen.status).toBe(413);
  });
});

describe('without sign-in', () => {
  it.each(['127.0.0.1:4701', 'localhost:1', '[::1]'])(
    'every viewer at %s is the user who started the dashboard, as an unverified admin',
    async (host) => {
      const app = accessApp({});
      const answer = await app.request('/who', { headers: { host } });
      expect(await answer.json()).toEqual({ name: userInfo().username, proved: false, role: 'admin' });
    },
  );

  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1', ''])(
    'the name %j, which may lead here from another site, is rejected',
    async (host) => {
      const app = accessApp({});
      const answer = await app.request('/who', { headers: { host } });
      expect([answer.status, await answer.text()]).toEqual([
        421,
        expect.stringContaining('SLIPWAY_DASHBOARD_ADDRESS'),
      ]);
    },
  );
});

/** Opens the form for the key, whose token is `csrf`. */
async function start(environment: Readonly<Record<string, string>> = {}) {
  page = await startPage({ SLIPWAY_DASHBOARD_KEY: KEY, ...environment });
  const browser = new TestBrowser();
  const csrf = tokenIn((await browser.open(`${page.url}/sign-in`)).text);
  return { url: page.url, browser, csrf };
}

/** The session's cookie of a person who signed in. */
async function cookieOf(environment: Readonly<Record<string, string>>): Promise<string> {
  const served = await startPage({ ...environment, SLIPWAY_DASHBOARD_URL: 'http://localhost' });
  try {
    const browser = new TestBrowser();
    const csrf = tokenIn((await browser.open(`${served.url}/sign-in`)).text);
    await browser.submit(
      `${served.url}/sign-in`,
      { csrf, name: 'Ada', key: KEY },
      { origin: 'http://localhost' },
    );
    const [cookie] = browser.cookies.get(new URL(served.url).host)!;
    return cookie!.join('=');
  } finally {
    await served.close();
  }
}

async function isKnown(environment: Readonly<Record<string, string>>, cookie: string): Promise<boolean> {
  const app = accessApp({ ...environment, SLIPWAY_DASHBOARD_URL: 'http://localhost' });
  const answer = await app.request('/who', { headers: { cookie, accept: 'text/html' } });
  return answer.status === 200;
}

describe('a client', () => {
  let attempts: Attempts;
  beforeEach(() => {
    vi.useFakeTimers();
    attempts = new Attempts();
  });
  const failTenTimes = (client: string): void => {
    for (let time = 0; time < 10; time++) attempts.fail(client);
  };

  it('waits after ten wrong attempts, until ten minutes after the first', () => {
    attempts.fail('ada');
    vi.advanceTimersByTime(240_000);
    expect(attempts.waitMs('ada')).toBe(0);
    failTenTimes('ada');
    expect(attempts.waitMs('ada')).toBe(360_000);
    vi.advanceTimersByTime(360_000);
    expect(attempts.waitMs('ada')).toBe(0);
    attempts.fail('ada');
    expect(attempts.waitMs('ada')).toBe(0);
  });

  it('does not wait because of another client', () => {
    failTenTimes('ada');
    expect(attempts.waitMs('ben')).toBe(0);
  });

  it('is forgotten after 10,000 newer ones', () => {
    failTenTimes('ada');
    for (let index = 0; index < 9_999; index++) attempts.fail(`client ${index}`);
    expect(attempts.waitMs('ada')).toBeGreaterThan(0);
    attempts.fail('one more');
    expect(attempts.waitMs('ada')).toBe(0);
  });
});
