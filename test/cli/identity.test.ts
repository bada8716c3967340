import { mkdir } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { memoryStore } from '../../src/artifact/memoryStore.ts';
import { credentialsFile, keepProof } from '../../src/cli/identity.ts';
import type { Statement } from '../../src/domain/identity/statement.ts';
import { type Proof, statementAudience } from '../../src/identity/proof.ts';
import { GITLAB_AUDIENCE, Verifier } from '../../src/identity/verifier.ts';
import { closedPort, type FaultyService, json, startService } from '../clients/faultyService.ts';
import { type LocalIssuer, startLocalIssuer } from '../identity/localIssuer.ts';
import { temporaryFolder } from '../support/temporaryFolder.ts';

const STATEMENT = { action: 'approve', workflowId: 'target:x/release-1', requestId: 'one' } as const;
/** It contains no credentials. */
const NO_HOME = { XDG_CONFIG_HOME: '/nonexistent' };

let issuer: LocalIssuer;
/** Issues tokens to GitHub's jobs. */
let runner: FaultyService;
let answer: (audience: string) => Promise<[status: number, body: unknown]>;
let github: Record<string, string>;

beforeEach(async () => {
  issuer = await startLocalIssuer();
  answer = async (aud) => [
    200,
    {
      value: await issuer.token({
        aud,
        sub: 'repo:acme/agent:ref:refs/heads/main',
        repository: 'acme/agent',
      }),
    },
  ];
  runner = await startService(({ url }, response) => {
    const audience = new URL(url, 'http://runner').searchParams.get('audience') ?? '';
    void answer(audience).then(([status, body]) => json(response, status, body));
  });
  github = {
    ...NO_HOME,
    ACTIONS_ID_TOKEN_REQUEST_URL: `${runner.url}/token?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'the-request-token',
  };
});
afterEach(() => issuer.close());

describe('a job of GitHub', () => {
  it('requests a token for this statement, which the worker accepts', async () => {
    const proof = await kept(github);
    const [asked] = runner.requests;
    expect(asked!.headers.authorization).toBe('bearer the-request-token');
    const { searchParams } = new URL(asked!.url, 'http://runner');
    expect(Object.fromEntries(searchParams)).toEqual({
      'api-version': '2.0',
      audience: statementAudience(STATEMENT),
    });
    expect(await verify('github', proof)).toMatchObject({ proved: { subject: 'acme/agent', job: true } });
    const other = { ...STATEMENT, requestId: 'another' };
    await expect(verify('github', proof, other)).rejects.toThrow('"aud"');
  });

  it('keeps the request token in the job', async () => {
    expect(JSON.stringify(await kept(github))).not.toContain('the-request-token');
  });

  it('reports which permission is missing', async () => {
    answer = () => Promise.resolve([403, { message: 'no' }]);
    await expect(kept(github)).rejects.toMatchObject({
      code: 'SLIPWAY_IDENTITY_UNPROVED',
      hint: 'give the job "permissions: { id-token: write }"',
    });
  });

  it('reports that GitHub does not answer', async () => {
    const away = { ...github, ACTIONS_ID_TOKEN_REQUEST_URL: `${await closedPort()}/token` };
    await expect(kept(away)).rejects.toMatchObject({ code: 'SLIPWAY_UNREACHABLE' });
  });
});

it('in a job of GitLab the command sends the token that the job declares, which the worker accepts', async () => {
  const token = await issuer.token({
    aud: GITLAB_AUDIENCE,
    sub: 'project_path:acme/agent:ref_type:branch:ref:main',
    project_path: 'acme/agent',
    project_id: '7',
  });
  const proof = await kept({ ...NO_HOME, SLIPWAY_ID_TOKEN: token });
  expect(proof.token).toBe(token);
  expect(await verify('gitlab', proof)).toMatchObject({ proved: { subject: '7', job: true } });
});

it.each([
  ['whose configuration is no folder', '/dev/null', 'you are not signed in'],
  ['whose sign-in cannot be read', undefined, 'your sign-in could not be read: EISDIR'],
])('a person %s has no proof, and the error says why', async (_who, configured, why) => {
  const folder = configured ?? (await temporaryFolder());
  if (configured === undefined) await mkdir(join(folder, 'slipway', 'identity.json'), { recursive: true });
  await expect(kept({ XDG_CONFIG_HOME: folder })).rejects.toMatchObject({
    code: 'SLIPWAY_IDENTITY_UNPROVED',
    message: expect.stringContaining(why) as string,
  });
});

it.each([
  ['HOME is empty', { HOME: '' }],
  ['XDG_CONFIG_HOME is relative', { XDG_CONFIG_HOME: 'settings' }],
])('a sign-in is not stored in the working folder, which may be packed, if %s', (_, environment) => {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  expect(isAbsolute(credentialsFile(environment))).toBe(true);
  vi.unstubAllEnvs();
});

async function kept(environment: Readonly<Record<string, string>>): Promise<Proof> {
  const store = memoryStore(new Map());
  return (await store.getRecord(await keepProof(environment, store, STATEMENT))) as Proof;
}

function verify(kind: 'github' | 'gitlab', proof: Proof, statement: Statement = STATEMENT) {
  const trusted = { kind, issuer: issuer.url, repositories: ['acme/agent'] };
  return new Verifier([trusted]).verify(proof, statement, new Date());
}
