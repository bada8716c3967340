import { exportJWK, generateKeyPair, type JWK, UnsecuredJWT, calculateJwkThumbprint } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  newSigningKey,
  personProof,
  type Proof,
  signStatement,
  statementAudience,
} from '../../src/identity/proof.ts';
import { readTrust, Verifier } from '../../src/identity/verifier.ts';
import { type LocalIssuer, startLocalIssuer } from './localIssuer.ts';

const STATEMENT = { action: 'approve', workflowId: 'target:x/release-1', requestId: 'one' } as const;
const OTHER = { ...STATEMENT, requestId: 'another' };
const NOW = new Date();

let issuer: LocalIssuer;

beforeEach(async () => {
  issuer = await startLocalIssuer();
});
afterEach(() => issuer.close());

describe('the proof of a job of GitHub', () => {
  const claims = {
    sub: 'repo:acme/agent:environment:production',
    repository: 'acme/agent',
    repository_id: '42',
    aud: statementAudience(STATEMENT),
  };
  const verify = (token: string) =>
    new Verifier([{ kind: 'github', issuer: issuer.url, repositories: ['acme/agent'] }]).verify(
      proof(token),
      STATEMENT,
      NOW,
    );

  it('proves its repository', async () => {
    expect(await verify(await issuer.token(claims))).toEqual({
      who: claims.sub,
      proved: { issuer: issuer.url, subject: '42', job: true },
    });
  });

  it.each([
    ['of a repository that is not listed', { repository: 'mallory/agent' }, 'mallory/agent'],
    ['of another statement', { aud: statementAudience(OTHER) }, '"aud"'],
    ['without an end', { exp: undefined }, '"exp"'],
    ['of an issuer that is not trusted', { iss: 'https://issuer.example' }, 'another issuer'],
  ])('is rejected %s', async (_what, changed, why) => {
    const token = await issuer.token({ ...claims, ...changed });
    await expect(verify(token)).rejects.toMatchObject({
      code: 'SLIPWAY_IDENTITY_UNPROVED',
      message: expect.stringContaining(why) as string,
    });
  });

  it('is rejected without a signature, or with one of another key', async () => {
    const seconds = Math.floor(Date.now() / 1_000);
    const unsigned = new UnsecuredJWT({
      ...claims,
      iss: issuer.url,
      iat: seconds,
      exp: seconds + 60,
    }).encode();
    const foreign = await startLocalIssuer();
    const forged = await foreign.token({ ...claims, iss: issuer.url });
    await foreign.close();
    for (const token of [unsigned, forged, 'nonsense']) {
      await expect(verify(token)).rejects.toMatchObject({ code: 'SLIPWAY_IDENTITY_UNPROVED' });
    }
  });
});

it('a token of GitLab proves its project', async () => {
  const claims = { sub: 'project_path:acme/agent:ref_type:branch:ref:main', project_path: 'acme/agent' };
  const token = await issuer.token({ ...claims, project_id: '7', aud: 'slipway' });
  const verifier = new Verifier([{ kind: 'gitlab', issuer: issuer.url, repositories: ['acme/agent'] }]);
  expect(await verifier.verify(proof(token), STATEMENT, NOW)).toMatchObject({
    who: claims.sub,
    proved: { subject: '7', job: true },
  });
});

describe('the proof of a person', () => {
  let key: JWK;
  let claims: Record<string, unknown>;
  const verify = async (token: string, statement?: string, at = NOW) =>
    new Verifier([{ kind: 'person', issuer: issuer.url, clientIds: ['command'] }]).verify(
      { token, statement, at: '' },
      STATEMENT,
      at,
    );

  beforeEach(async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    key = await exportJWK(privateKey);
    const nonce = await calculateJwkThumbprint(await exportJWK(publicKey));
    claims = { sub: 'ada', aud: 'command', nonce, email: 'ada@example.com', email_verified: true };
  });

  it('proves their verified e-mail address, and otherwise their subject at the issuer', async () => {
    const signed = await signStatement(STATEMENT, key);
    expect(await verify(await issuer.token(claims), signed)).toEqual({
      who: 'ada@example.com',
      proved: { issuer: issuer.url, subject: 'ada', email: 'ada@example.com' },
    });
    expect(await verify(await issuer.token({ ...claims, email_verified: false }), signed)).toEqual({
      who: 'ada',
      proved: { issuer: issuer.url, subject: 'ada' },
    });
  });

  it('is rejected for another statement, by another key, without a statement, and for another client', async () => {
    const token = await issuer.token(claims);
    const mallory = await generateKeyPair('ES256', { extractable: true });
    const others = [
      await signStatement(OTHER, key),
      await signStatement(STATEMENT, await exportJWK(mallory.privateKey)),
      'nonsense',
      undefined,
    ];
    for (const signed of others) {
      await expect(verify(token, signed)).rejects.toMatchObject({ code: 'SLIPWAY_IDENTITY_UNPROVED' });
    }
    const ofPage = await issuer.token({ ...claims, aud: 'page' });
    await expect(verify(ofPage, await signStatement(STATEMENT, key))).rejects.toThrow('"aud"');
    const issuedToPage = await issuer.token({ ...claims, aud: ['command', 'page'], azp: 'page' });
    await expect(verify(issuedToPage, await signStatement(STATEMENT, key))).rejects.toThrow('another client');
  });

  it('must be valid when the message arrives, even if it is verified later', async () => {
    const before = new Date(NOW.getTime() - 7_200_000);
    const signed = await signStatement(STATEMENT, key);
    const token = await issuer.token(claims, before);
    await expect(verify(token, signed)).rejects.toThrow('expired');
    expect(await verify(token, signed, before)).toMatchObject({ who: 'ada@example.com' });
  });

  it('is retried if the issuer does not answer', async () => {
    const token = await issuer.token(claims);
    const signed = await signStatement(STATEMENT, key);
    issuer.answerKeysWith(503);
    await expect(verify(token, signed)).rejects.toMatchObject({ code: 'SLIPWAY_UNREACHABLE' });
    await issuer.close();
    await expect(verify(token, signed)).rejects.toMatchObject({ code: 'SLIPWAY_UNREACHABLE' });
    issuer = await startLocalIssuer();
  });
});

describe('a verifier that has read the keys of an issuer', () => {
  const job = (repository: string) => {
    const claims = { sub: repository, project_path: repository, project_id: '7', aud: 'slipway' };
    return issuer.token(claims);
  };

  it('accepts the next key at once', async () => {
    const verifier = new Verifier([{ kind: 'gitlab', issuer: issuer.url, repositories: ['acme/agent'] }]);
    await verifier.verify(proof(await job('acme/agent')), STATEMENT, NOW);
    await issuer.changeKey();
    const second = await verifier.verify(proof(await job('acme/agent')), STATEMENT, NOW);
    expect(second).toMatchObject({ who: 'acme/agent' });
  });

  it('accepts jobs and people of one GitLab', async () => {
    const verifier = new Verifier([
      { kind: 'person', issuer: issuer.url, clientIds: ['command'] },
      { kind: 'gitlab', issuer: issuer.url, repositories: ['acme/agent'] },
    ]);
    const { privateKey, nonce } = await newSigningKey();
    const person = await issuer.token({ sub: 'ada', aud: 'command', nonce });
    const signed = await personProof(person, privateKey, STATEMENT);
    expect(await verifier.verify({ ...signed, at: '' }, STATEMENT, NOW)).toMatchObject({ who: 'ada' });
    const ofJob = proof(await job('acme/agent'));
    expect(await verifier.verify(ofJob, STATEMENT, NOW)).toMatchObject({ proved: { job: true } });
    const others = [
      proof(person),
      { ...signed, token: ofJob.token, at: '' },
      proof(await job('mallory/agent')),
    ];
    for (const other of others) {
      await expect(verifier.verify(other, STATEMENT, NOW)).rejects.toMatchObject({
        code: 'SLIPWAY_IDENTITY_UNPROVED',
      });
    }
  });
});

describe('the issuers that a worker trusts', () => {
  it('come from its environment', () => {
    expect(
      readTrust({
        SLIPWAY_OIDC_ISSUER: 'https://login.example.com',
        SLIPWAY_OIDC_CLIENT_ID: 'command',
        SLIPWAY_OIDC_GITHUB_REPOSITORIES: 'acme/agent, acme/other',
        SLIPWAY_OIDC_GITLAB_PROJECTS: 'acme/group/agent',
      }),
    ).toEqual([
      { kind: 'person', issuer: 'https://login.example.com', clientIds: ['command'] },
      {
        kind: 'github',
        issuer: 'https://token.actions.githubusercontent.com',
        repositories: ['acme/agent', 'acme/other'],
      },
      { kind: 'gitlab', issuer: 'https://gitlab.com', repositories: ['acme/group/agent'] },
    ]);
    expect(readTrust({})).toEqual([]);
  });

  it.each([
    { SLIPWAY_OIDC_ISSUER: 'http://login.example.com', SLIPWAY_OIDC_CLIENT_ID: 'command' },
    { SLIPWAY_OIDC_GITHUB_REPOSITORIES: 'acme/*' },
  ])('are rejected as %j', (environment) => {
    expect(() => readTrust(environment)).toThrow(expect.objectContaining({ code: 'SLIPWAY_USAGE' }));
  });
});

function proof(token: string): Proof {
  return { token, at: NOW.toISOString() };
}
