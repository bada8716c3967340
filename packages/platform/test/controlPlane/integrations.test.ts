import { describe, expect, it } from 'vitest';

import { type Answer, createBody, TestPlatform } from './testPlatform.ts';

const PATH = '/v1/integrations/github/install';
const platform = TestPlatform.use();

function register(body: Record<string, unknown>): Promise<Answer> {
  return platform.call('POST', PATH, { name: crypto.randomUUID(), ...body });
}

function deploy(
  sourceConfig: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const body = createBody({ source: 'repo_host', source_config: sourceConfig });
  return platform.post(body, headers);
}

describe('an integration', () => {
  it('is registered, listed newest first with references and no secrets, and removed', async () => {
    const older = await register({ url_prefix: 'https://git.example/older' });
    const newer = await register({
      name: 'acme',
      url_prefix: 'https://github.com/acme',
      credential: 'env:GITHUB_TOKEN',
      webhook_secret: 'file:/run/secrets/webhook',
    });
    expect(newer).toMatchObject({
      status: 201,
      json: {
        name: 'acme',
        url_prefix: 'https://github.com/acme',
        username: 'x-access-token',
        credential: 'env:GITHUB_TOKEN',
        webhook_secret: 'file:/run/secrets/webhook',
        webhook_url: `http://localhost/v1/integrations/github/${newer.json.id}/webhook`,
      },
    });
    const { json } = await platform.call('GET', PATH);
    expect(json).toEqual([newer.json, older.json]);
    expect((await platform.call('DELETE', `${PATH}/${older.json.id}`)).status).toBe(204);
    expect((await platform.call('DELETE', `${PATH}/${older.json.id}`)).status).toBe(404);
    expect((await platform.call('GET', PATH)).json).toEqual([newer.json]);
  });

  it('requires a unique name', async () => {
    await register({ name: 'twice', url_prefix: 'https://git.example' });
    expect((await register({ name: 'twice', url_prefix: 'https://git.example' })).status).toBe(409);
  });

  it.each([
    [{ url_prefix: 'https://token@github.com/acme' }, 'url_prefix', 'git_url'],
    [{ url_prefix: 'http://git.example/' }, 'url_prefix', 'git_url'],
    [{ url_prefix: 'ext::sh -c id' }, 'url_prefix', 'git_url'],
    [{ url_prefix: 'https://github.com', credential: 'ghp_asecret' }, 'credential', 'string_format'],
    [{ url_prefix: 'https://github.com', webhook_secret: 'asecret' }, 'webhook_secret', 'string_format'],
    [{ url_prefix: '/srv/git', credential: 'env:TOKEN' }, 'credential', 'not_applicable'],
    [{ url_prefix: 'git@github.com:acme' }, 'credential', 'missing'],
    [{}, 'url_prefix', 'missing'],
  ])('is rejected as %j', async (body, field, type) => {
    const { status, json } = await register(body);
    expect(status).toBe(422);
    expect(json.detail).toMatchObject([{ loc: ['body', field], type }]);
    expect(JSON.stringify(json)).not.toContain('asecret');
  });

  it('cannot be deleted while a deployment uses it', async () => {
    const { json } = await register({ url_prefix: '/srv/git' });
    expect((await deploy({ integration_id: json.id, repo_url: '/srv/git/agent' })).status).toBe(201);
    expect(await platform.call('DELETE', `${PATH}/${json.id}`)).toMatchObject({ status: 409 });
  });

  it('is used by its tenant only', async () => {
    const { json } = await register({ url_prefix: 'https://git.example' });
    const config = { integration_id: json.id, repo_url: 'https://git.example/a' };
    const refused = await deploy(config, { 'x-tenant-id': crypto.randomUUID() });
    expect(refused.json.detail).toMatchObject([{ type: 'integration_unknown' }]);
  });
});

describe('the repository of a deployment', () => {
  it.each([
    [{ repo_url: 'ext::sh -c id' }, 'repo_url', 'git_url'],
    [{ repo_url: '--upload-pack=id' }, 'repo_url', 'git_url'],
    [{ repo_url: 'https://user:token@github.com/a' }, 'repo_url', 'git_url'],
    [{ repo_url: 'git@github.com:acme/agent' }, 'repo_url', 'integration_required'],
    [{ repo_url: 'file:///srv/git/agent' }, 'repo_url', 'integration_required'],
    [
      { repo_url: 'https://github.com/a', integration_id: crypto.randomUUID() },
      'integration_id',
      'integration_unknown',
    ],
  ])('is rejected as %j', async (sourceConfig, field, type) => {
    const { status, json } = await deploy(sourceConfig);
    expect(status).toBe(422);
    expect(json.detail).toMatchObject([{ loc: ['body', 'source_config', field], type }]);
  });

  it('must have its integration’s prefix', async () => {
    const { json } = await register({ name: 'prefix', url_prefix: '/srv/git/acme' });
    for (const outside of ['/srv/git/acme-2/agent', '/srv/git', 'https://github.com/acme/agent']) {
      const refused = await deploy({ integration_id: json.id, repo_url: outside });
      expect(refused.json.detail, outside).toMatchObject([
        { loc: ['body', 'source_config', 'repo_url'], type: 'outside_integration' },
      ]);
    }
  });
});
