import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { exportJWK, generateKeyPair } from 'jose';
import type { Configuration } from 'oidc-provider';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { signedIn, TestBrowser } from './testBrowser.ts';
import { startIssuer, type TestIssuer } from './testIssuer.ts';
import { startPage, type TestPage, tokenIn } from './testPage.ts';
import { useFolders } from '../../support/temporaryFolder.ts';

let issuer: TestIssuer;
let page: TestPage;
const folder = useFolders();

beforeEach(async () => {
  issuer = await startIssuer();
});

afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await Promise.all([issuer.close(), page.close()]);
});

describe('signing in with OIDC', () => {
  it('leads to the issuer and back to the same page, with a name that the issuer verified', async () => {
    const browser = await start();
    const asked = await browser.open(`${page.url}/targets/a%20b%2Fc%3Ad%25?tab=checks%26more`);
    expect(asked.url.origin).toBe(issuer.url);
    const seen = await browser.signInAtIssuer(asked, 'ada');
    expect(seen.url.href).toBe(`${page.url}/targets/a%20b%2Fc%3Ad%25?tab=checks%26more`);
    expect(await who(browser)).toEqual({ name: 'ada@example.com', proved: true, role: 'admin' });
  });

  it('uses PKCE, a state and a nonce that are new each time', async () => {
    await start();
    const asked = await Promise.all([1, 2].map(() => authorization(new TestBrowser())));
    const [first, second] = asked.map(({ searchParams }) => searchParams);
    expect(first!.get('code_challenge_method')).toBe('S256');
    for (const name of ['code_challenge', 'state', 'nonce']) {
      expect(first!.get(name)).toMatch(/^[\w-]{43}$/);
      expect(first!.get(name)).not.toBe(second!.get(name));
    }
  });

  it('rejects an answer with another state', async () => {
    const browser = await start();
    const callback = await answered(browser, await authorization(browser), 'ada');
    callback.searchParams.set('state', 'another');
    await expectRefused(browser, callback, 'state');
  });

  it.each([
    ['an ID token with another nonce', 'nonce', 'nonce'],
    ['a code with another PKCE challenge', 'code_challenge', 'invalid_grant'],
  ])('rejects %s', async (_what, parameter, why) => {
    const browser = await start();
    const asked = await authorization(browser);
    asked.searchParams.set(parameter, 'a'.repeat(43));
    await expectRefused(browser, await answered(browser, asked, 'ada'), why);
  });

  it('rejects an answer in another browser', async () => {
    const browser = await start();
    const callback = await answered(browser, await authorization(browser), 'ada');
    await expectRefused(new TestBrowser(), callback, 'did not begin');
  });

  it('accepts an answer once', async () => {
    const browser = await start();
    const callback = await answered(browser, await authorization(browser), 'ada');
    expect((await browser.open(callback)).status).toBe(200);
    await expectRefused(new TestBrowser(), callback, 'did not begin');
    const again = await browser.open(callback);
    expect(again.status).toBe(403);
  });

  it('accepts the answer to the newest of several sign-ins of a browser, also after that to an earlier one', async () => {
    const browser = await start();
    const earlier = await answered(browser, await authorization(browser), 'ada');
    const newest = await answered(browser, await authorization(browser), 'ada');
    expect((await browser.open(earlier)).status).toBe(403);
    expect((await browser.open(newest)).status).toBe(200);
  });

  it('shows the issuer’s error', async () => {
    const browser = await start();
    const { searchParams } = await authorization(browser);
    const callback = new URL('/sign-in/callback?error=access_denied&error_description=secret', page.url);
    callback.searchParams.set('state', searchParams.get('state')!);
    callback.searchParams.set('iss', issuer.url);
    await expectRefused(browser, callback, 'access_denied');
  });

  it('reports an issuer that does not answer, and works when it does', async () => {
    page = await startPage(issuer.environment);
    const browser = new TestBrowser();
    issuer.register(`${page.url}/sign-in/callback`);
    await issuer.close();
    const refused = await browser.open(`${page.url}/who`);
    expect([refused.status, refused.text]).toEqual([
      503,
      expect.stringContaining('SLIPWAY_SIGN_IN_UNAVAILABLE'),
    ]);
    issuer = await startIssuer(Number(new URL(issuer.url).port));
    issuer.register(`${page.url}/sign-in/callback`);
    expect((await browser.open(`${page.url}/who`)).url.origin).toBe(issuer.url);
  });

  it('accepts a key that the issuer has only had since the last sign-in', async () => {
    await start();
    await signedIn(page, 'ada');
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const key = { ...(await exportJWK(privateKey)), kid: 'new', alg: 'RS256', use: 'sig' };
    issuer.register(`${page.url}/sign-in/callback`, { jwks: { keys: [key] } });
    expect(await who(await signedIn(page, 'ben'))).toMatchObject({ name: 'ben@example.com' });
  });

  it('ends the session with the ID token', async () => {
    await start({}, { ttl: { IdToken: 60 } });
    const browser = await signedIn(page, 'ada');
    expect((await browser.open(`${page.url}/who`)).status).toBe(200);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 });
    const seen = await browser.open(`${page.url}/who`, (url) => url.origin === issuer.url);
    expect(seen.url.origin).toBe(issuer.url);
  });

  it('ends a live stream with the session', async () => {
    const begun = Math.floor(Date.now() / 1_000) * 1_000;
    await start({}, { ttl: { IdToken: 60 } });
    const browser = await signedIn(page, 'ada');
    // The token counts whole seconds, from the sign-in.
    vi.useFakeTimers({ toFake: ['Date'], now: begun + 59_500 });
    const { status, text } = await browser.open(`${page.url}/live`);
    expect([status, text]).toEqual([200, expect.stringMatching(/^retry: 1000\n/u)]);
  });

  it('ends the session after 12 hours if the ID token is valid for longer', async () => {
    await start({}, { ttl: { IdToken: 7 * 24 * 3_600 } });
    const browser = await signedIn(page, 'ada');
    const begin = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now: begin + 11.9 * 3_600_000 });
    expect((await browser.open(`${page.url}/who`)).status).toBe(200);
    vi.setSystemTime(begin + 12 * 3_600_000);
    const seen = await browser.open(`${page.url}/who`, (url) => url.origin === issuer.url);
    expect(seen.url.origin).toBe(issuer.url);
  });

  it('starts a new session, so that a prepared one is invalid', async () => {
    const browser = await start();
    await browser.open(`${page.url}/who`, (url) => url.origin === issuer.url);
    const prepared = sessionCookie(browser);
    const asked = await browser.open(`${page.url}/who`);
    await browser.signInAtIssuer(asked, 'ada');
    expect(sessionCookie(browser)).not.toBe(prepared);
    const other = new TestBrowser();
    other.cookies.set(new URL(page.url).host, new Map([prepared!]));
    expect((await other.open(`${page.url}/who`, (url) => url.origin === issuer.url)).url.origin).toBe(
      issuer.url,
    );
  });

  it('keeps no readable code or token in the cookies', async () => {
    await start();
    const browser = await signedIn(page, 'ada');
    const [, value] = sessionCookie(browser)!;
    const bytes = Buffer.from(value, 'base64url').toString('latin1');
    for (const part of ['ada', 'admin', 'csrf']) expect(bytes).not.toContain(part);
  });

  it('signs out here and offers to sign out at the issuer', async () => {
    await start();
    const browser = await signedIn(page, 'ada');
    const csrf = tokenIn((await browser.open(`${page.url}/form`)).text);
    const seen = await browser.submit(`${page.url}/sign-out`, { csrf });
    expect(seen.url.pathname).toBe('/signed-out');
    expect(sessionCookie(browser)).toBeUndefined();
    const there = new URL(/href="([^"]+session\/end[^"]+)"/u.exec(seen.text)![1]!.replaceAll('&amp;', '&'));
    expect(there.origin).toBe(issuer.url);
    expect(there.searchParams.get('post_logout_redirect_uri')).toBe(`${page.url}/signed-out`);
    expect((await browser.open(there)).status).toBe(200);
  });
});

describe('roles', () => {
  it('come from the claim', async () => {
    await start({ SLIPWAY_OIDC_ROLE_CLAIM: 'roles' });
    expect((await who(await signedIn(page, 'ben'))).role).toBe('release');
  });

  it('are "view" for people without a claim', async () => {
    await start();
    const browser = await signedIn(page, 'eve');
    expect(await who(browser)).toEqual({ name: 'eve', proved: true, role: 'view' });
  });

  it('come from the file, by e-mail address and by group', async () => {
    await start(await roleFile('people: { Ben@example.com: admin }\ngroups: { sre: release }'));
    expect((await who(await signedIn(page, 'ben'))).role).toBe('admin');
    expect((await who(await signedIn(page, 'ada'))).role).toBe('release');
  });

  it('are not given for an e-mail address that the issuer did not verify', async () => {
    await start(await roleFile('{ "people": { "ada@example.com": "admin" } }'));
    expect((await who(await signedIn(page, 'eve'))).role).toBe('view');
  });

  it('are denied to people whom a file with "default: none" does not list', async () => {
    const browser = await start(await roleFile('default: none\npeople: { ada@example.com: view }'));
    await expectRefused(browser, await answered(browser, await authorization(browser), 'ben'), 'no role');
  });

  it('decide who may act', async () => {
    await start();
    const pressed = async (login: string) => {
      const browser = await signedIn(page, login);
      const csrf = tokenIn((await browser.open(`${page.url}/form`)).text);
      return await browser.submit(`${page.url}/press`, { csrf });
    };
    expect(await pressed('ben')).toMatchObject({ status: 200, text: 'pressed by ben@example.com' });
    const refused = await pressed('eve');
    expect(refused.status).toBe(403);
    expect(refused.text).toBe('SLIPWAY_ROLE_MISSING: eve has the role "view"; this needs the role "release"');
  });
});

async function start(further: Readonly<Record<string, string>> = {}, configuration?: Configuration) {
  page = await startPage({ ...issuer.environment, ...further });
  issuer.register(`${page.url}/sign-in/callback`, configuration);
  return new TestBrowser();
}

async function roleFile(text: string): Promise<Readonly<Record<string, string>>> {
  const path = join(folder(), 'roles.yaml');
  await writeFile(path, text);
  return { SLIPWAY_DASHBOARD_ROLES: path };
}

/** The address to which the page redirects a browser. */
async function authorization(browser: TestBrowser): Promise<URL> {
  return (await browser.open(`${page.url}/who`, (url) => url.origin === issuer.url)).url;
}

/** The address to which the issuer redirects the browser. It has not been opened yet. */
async function answered(browser: TestBrowser, asked: URL, login: string): Promise<URL> {
  const isBack = (url: URL): boolean => url.origin === page.url;
  return (await browser.signInAtIssuer(await browser.open(asked, isBack), login, isBack)).url;
}

async function who(browser: TestBrowser) {
  return JSON.parse((await browser.open(`${page.url}/who`)).text) as { readonly role: string };
}

async function expectRefused(browser: TestBrowser, callback: URL, why: string): Promise<void> {
  const { status, text } = await browser.open(callback);
  expect([status, text]).toEqual([403, expect.stringContaining('SLIPWAY_SIGN_IN_FAILED')]);
  expect(text).toContain(why);
  expect((await browser.open(`${page.url}/who`, (url) => url.origin === issuer.url)).url.origin).toBe(
    issuer.url,
  );
}

function sessionCookie(browser: TestBrowser): [string, string] | undefined {
  return [...(browser.cookies.get(new URL(page.url).host) ?? [])].find(([name]) => name.includes('session'));
}
