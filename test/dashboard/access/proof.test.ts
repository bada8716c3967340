import type { Configuration } from 'oidc-provider';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { openArtifactStore } from '../../../src/artifact/openArtifactStore.ts';
import { activitiesUnderTest } from '../../activities/activitiesUnderTest.ts';
import { signedIn, type TestBrowser } from './testBrowser.ts';
import { CLIENT_ID, startIssuer, type TestIssuer } from './testIssuer.ts';
import { startPage, type TestPage, tokenIn } from './testPage.ts';
import { useFolders } from '../../support/temporaryFolder.ts';

const STATEMENT = { action: 'approve', workflowId: 'target:x/release-1', requestId: 'one' } as const;

let issuer: TestIssuer;
let page: TestPage;
const folder = useFolders();

beforeEach(async () => {
  issuer = await startIssuer();
  vi.stubEnv('SLIPWAY_OIDC_ISSUER', issuer.url);
  vi.stubEnv('SLIPWAY_OIDC_TRUSTED_CLIENT_IDS', CLIENT_ID);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await Promise.all([issuer.close(), page.close()]);
});

it('a person signed in to the dashboard proves their identity to the worker', async () => {
  await start();
  const browser = await signedIn(page, 'ben');
  const { status, text: name } = await prove(browser);
  expect(status).toBe(200);
  const asked = { store: folder(), name, statement: STATEMENT, at: new Date().toISOString() };
  const { identity } = await activitiesUnderTest().proveIdentity(asked);
  expect(identity).toEqual({
    who: 'ben@example.com',
    proved: { issuer: issuer.url, subject: 'ben', email: 'ben@example.com' },
  });
});

it('the browser cannot read the ID token, and loses it at the end of the session', async () => {
  await start();
  const browser = await signedIn(page, 'ben');
  const line = browser.setCookies.find((set) => set.startsWith('slipway-identity-'));
  expect(line).toMatch(/HttpOnly/u);
  expect(line!.length).toBeLessThan(4_096);
  // The header and the payload of every ID token begin like this, so no cookie contains a readable one.
  for (const set of browser.setCookies) expect(set).not.toMatch(/eyJ[\w-]*\.eyJ/u);
  const { text } = await browser.open(`${page.url}/form`);
  await browser.submit(`${page.url}/sign-out`, { csrf: tokenIn(text) }, {}, () => true);
  expect([...browser.cookies.get(new URL(page.url).host)!.keys()]).toEqual([]);
});

it('an identity that another sign-in left proves nothing', async () => {
  await start();
  const [ada, ben] = [await signedIn(page, 'ada'), await signedIn(page, 'ben')];
  const { host, port } = new URL(page.url);
  const name = `slipway-identity-${port}`;
  ben.cookies.get(host)!.set(name, ada.cookies.get(host)!.get(name)!);
  await expectUnproved(ben);
});

it('a token that is too large for a cookie is not kept, and the error gives advice', async () => {
  const large = Array.from({ length: 400 }, (_, number) => `group-${number}`);
  await start({
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, groups: large }) }),
  });
  const browser = await signedIn(page, 'ben');
  expect((await browser.open(`${page.url}/who`)).status).toBe(200);
  await expectUnproved(browser);
});

async function expectUnproved(browser: TestBrowser): Promise<void> {
  const { status, text } = await prove(browser);
  expect([status, text]).toEqual([409, expect.stringContaining('SLIPWAY_IDENTITY_UNPROVED')]);
  expect(await openArtifactStore(folder()).listRecords()).toEqual([]);
}

async function prove(browser: TestBrowser) {
  const { text } = await browser.open(`${page.url}/form`);
  const { workflowId, requestId } = STATEMENT;
  return await browser.submit(`${page.url}/prove`, {
    csrf: tokenIn(text),
    store: folder(),
    workflowId,
    requestId,
  });
}

async function start(configuration: Configuration = {}): Promise<void> {
  page = await startPage(issuer.environment);
  issuer.register(`${page.url}/sign-in/callback`, { conformIdTokenClaims: false, ...configuration });
}
