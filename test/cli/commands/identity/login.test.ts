import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { openArtifactStore } from '../../../../src/artifact/openArtifactStore.ts';
import { runLoginCommand, runLogoutCommand } from '../../../../src/cli/commands/identity/login.ts';
import { keepProof } from '../../../../src/cli/identity.ts';
import { activitiesUnderTest, failureOf } from '../../../activities/activitiesUnderTest.ts';
import { TestBrowser } from '../../../dashboard/access/testBrowser.ts';
import {
  COMMAND_CLIENT_ID,
  registerCommand,
  startIssuer,
  type TestIssuer,
} from '../../../dashboard/access/testIssuer.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';
import { testOutput } from '../../testOutput.ts';

const STATEMENT = { action: 'approve', workflowId: 'target:x/release-1', requestId: 'one' } as const;

let issuer: TestIssuer;
let folder: string;
let environment: Readonly<Record<string, string>>;

beforeEach(async () => {
  issuer = await startIssuer();
  registerCommand(issuer);
  folder = await temporaryFolder();
  environment = {
    SLIPWAY_OIDC_ISSUER: issuer.url,
    SLIPWAY_OIDC_CLIENT_ID: COMMAND_CLIENT_ID,
    XDG_CONFIG_HOME: folder,
  };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await issuer.close();
});

it('signs in with a browser, stores the sign-in only for its user, and a worker accepts it once', async () => {
  const output = await signIn('ada');
  expect(output.events[1]).toMatchObject({ event: 'signed_in', name: 'ada@example.com' });
  const file = join(folder, 'slipway/identity.json');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const { idToken } = JSON.parse(await readFile(file, 'utf8')) as { idToken: string };
  expect(JSON.stringify([output.events, output.noted])).not.toContain(idToken);

  const store = openArtifactStore(join(folder, 'store'));
  const input = {
    store: store.url,
    name: await keepProof(environment, store, STATEMENT),
    statement: STATEMENT,
    at: new Date().toISOString(),
  };
  const activities = activitiesUnderTest();
  const { identity } = await activities.proveIdentity(input);
  expect(identity).toEqual({
    who: 'ada@example.com',
    proved: { issuer: issuer.url, subject: 'ada', email: 'ada@example.com' },
  });
  expect(await store.listRecords()).toEqual([]);
  expect(await failureOf(activities.proveIdentity(input))).toMatchObject({
    type: 'SLIPWAY_IDENTITY_UNPROVED',
    nonRetryable: true,
    message: expect.stringContaining('used already') as string,
  });
});

it('a request whose address cannot be read does not end a sign-in', async () => {
  await signIn('ada', async (url) => {
    const { port } = new URL(new URL(url).searchParams.get('redirect_uri')!);
    const stranger = connect(Number(port), '127.0.0.1').setEncoding('utf8');
    stranger.write('GET // HTTP/1.1\r\nhost: x\r\n\r\n');
    const [answer] = (await once(stranger, 'data')) as [string];
    expect(answer).toMatch(/^HTTP\/1.1 404 /);
  });
});

it('reports an issuer that does not answer as unreachable, not as a refusal', async () => {
  const away = { ...environment, SLIPWAY_OIDC_ISSUER: 'https://127.0.0.1:2' };
  const login = runLoginCommand({ output: testOutput(), home: folder, environment: away });
  await expect(login).rejects.toMatchObject({
    code: 'SLIPWAY_SIGN_IN_UNAVAILABLE',
    message: expect.stringMatching(/^127.0.0.1:2 could not be asked who you are: .*ECONNREFUSED/u),
  });
});

it('a sign-in that could not be stored is not asked for', async () => {
  const output = testOutput({ json: true });
  const nowhere = { ...environment, XDG_CONFIG_HOME: '/dev/null' };
  await expect(runLoginCommand({ output, home: folder, environment: nowhere })).rejects.toThrow(/ENOTDIR/);
  expect(output.events).toEqual([]);
});

it('stored credentials with a damaged key count as none', async () => {
  await signIn('cleo');
  const file = join(folder, 'slipway/identity.json');
  const credentials = JSON.parse(await readFile(file, 'utf8')) as { privateKey: object };
  await writeFile(
    file,
    JSON.stringify({ ...credentials, privateKey: { ...credentials.privateKey, d: '?' } }),
  );
  const kept = keepProof(environment, openArtifactStore(join(folder, 'store')), STATEMENT);
  await expect(kept).rejects.toMatchObject({ code: 'SLIPWAY_IDENTITY_UNPROVED' });
});

it('a proof is invalid for another statement, and is removed', async () => {
  await signIn('ben');
  const store = openArtifactStore(join(folder, 'store'));
  const name = await keepProof(environment, store, STATEMENT);
  const other = { ...STATEMENT, workflowId: 'target:x/release-2' };
  const at = new Date().toISOString();
  const asked = { store: store.url, name, statement: other, at };
  const failure = await failureOf(activitiesUnderTest().proveIdentity(asked));
  expect(failure).toMatchObject({ type: 'SLIPWAY_IDENTITY_UNPROVED', nonRetryable: true });
  expect(await store.listRecords()).toEqual([]);
});

it('only records of proofs are read or removed', async () => {
  const store = openArtifactStore(join(folder, 'store'));
  await store.putRecord('production/1.json', { token: 'x' });
  const asked = { store: store.url, statement: STATEMENT, at: new Date().toISOString() };
  for (const name of ['production/1.json', '_identities/../production/1.json', '_identities/x']) {
    const failure = await failureOf(activitiesUnderTest().proveIdentity({ ...asked, name }));
    expect(failure).toMatchObject({ type: 'SLIPWAY_IDENTITY_UNPROVED' });
  }
  expect(await store.listRecords()).toEqual(['production/1.json']);
});

it('without a sign-in, or after a sign-out, nothing is proved', async () => {
  const store = openArtifactStore(join(folder, 'store'));
  const unproved = { code: 'SLIPWAY_IDENTITY_UNPROVED', hint: 'sign in: slipway login' };
  await expect(keepProof(environment, store, STATEMENT)).rejects.toMatchObject(unproved);
  await signIn('ada');
  await keepProof(environment, store, STATEMENT);
  await runLogoutCommand({ output: testOutput(), home: folder, environment });
  await expect(keepProof(environment, store, STATEMENT)).rejects.toMatchObject(unproved);
});

async function signIn(login: string, meanwhile: (url: string) => Promise<void> = () => Promise.resolve()) {
  const output = testOutput({ json: true });
  const signingIn = runLoginCommand({ output, home: folder, environment });
  await vi.waitUntil(() => output.events.length > 0, 30_000);
  const url = String(output.events[0]!['url']);
  await meanwhile(url);
  const browser = new TestBrowser();
  const asked = await browser.open(url);
  await browser.signInAtIssuer(asked, login);
  await signingIn;
  return output;
}
