import { randomUUID } from 'node:crypto';

import { beforeAll, describe, expect, it } from 'vitest';

import { type AnswerBody, API_KEY, TestPlatform } from '../testPlatform.ts';

const SOURCES = ['repo_host', 'external_image', 'internal_image', 'internal_source'] as const;
type SourceName = (typeof SOURCES)[number];

const platform = TestPlatform.use();
let integration: string;
let listener: string;

beforeAll(async () => {
  integration = await platform.register('/v1/integrations/github/install', {
    name: 'disk',
    url_prefix: '/srv/git',
  });
  listener = await platform.register('/v2/listeners', {
    compute_type: 'cluster',
    compute_id: 'the cluster',
    compute_config: { cluster_namespaces: ['agents'] },
  });
});

/** Every field of a request to create a deployment of the source. */
function wholeOf(source: SourceName): Record<string, Record<string, unknown> | unknown[] | string> {
  const commands = { install_command: 'npm ci', build_command: 'npm run build' };
  const always = { source, secrets: [{ name: 'A', value: 'b' }], image_version: '3.11' };
  switch (source) {
    case 'repo_host':
      return {
        ...always,
        source_config: {
          ...commands,
          integration_id: integration,
          repo_url: '/srv/git/agent',
          deployment_type: 'prod',
          build_on_push: false,
        },
        source_revision_config: { repo_ref: 'refs/tags/v1', graph_config_path: 'graph.json' },
      };
    case 'external_image':
      return {
        ...always,
        source_config: {
          ...commands,
          custom_url: 'https://agent.example',
          resource_spec: { db_storage_gi: 1 },
          listener_id: listener,
          listener_config: { cluster_namespace: 'agents' },
        },
        source_revision_config: { image_uri: 'registry.example/agent:1' },
        secret_references: [{ name: 'B', secret_name: 'tokens', secret_key: 'model' }],
      };
    case 'internal_image':
      return {
        ...always,
        source_config: commands,
        source_revision_config: { image_uri: 'registry.example/agent:1' },
      };
    case 'internal_source':
      return {
        ...always,
        source_config: commands,
        source_revision_config: { graph_config_path: 'graph.json' },
      };
  }
}

async function create(source: SourceName, more: Record<string, unknown> = {}): Promise<AnswerBody> {
  const request = { name: randomUUID(), ...wholeOf(source), ...more };
  const { status, json } = await platform.post(request);
  expect(status, JSON.stringify(json)).toBe(201);
  return json;
}

/** A placeholder for the path of an upload to the deployment. */
const upload = (id: string): Promise<string> => platform.upload(id);

describe('a deployment', () => {
  it.each(SOURCES)('of source %s is returned with every field of its creation', async (source) => {
    const whole = wholeOf(source);
    const created = await create(source);
    expect(created).toMatchObject(whole);
    expect(await platform.deployment(created.id)).toMatchObject(whole);
  });

  it.each(SOURCES.filter((source) => source !== 'external_image'))(
    'of source %s gets its custom_url only from the platform',
    async (source) => {
      const { id, source_config: config } = await create(source);
      expect(config['custom_url']).toBe(`http://localhost/agents/${id}`);
      const { status, json } = await platform.patch(id, {
        source_config: { custom_url: 'https://elsewhere.example' },
      });
      expect([status, json.detail]).toMatchObject([422, [{ loc: ['body', 'source_config', 'custom_url'] }]]);
    },
  );

  it.each(SOURCES)(
    'of source %s moves with the platform, also if its answer was sent back',
    async (source) => {
      const { custom_url: _, ...config } = wholeOf(source)['source_config'] as Record<string, unknown>;
      const created = await create(source, { source_config: config });
      const { status } = await platform.patch(created.id, created);
      expect(status).toBe(200);
      const moved = await platform.app.request(`http://elsewhere.example/v2/deployments/${created.id}`, {
        headers: { 'x-api-key': API_KEY },
      });
      expect(await moved.json()).toMatchObject({
        source_config: { custom_url: `http://elsewhere.example/agents/${created.id}` },
      });
    },
  );

  it('ignores read-only fields in a creation or a PATCH', async () => {
    const past = '2000-01-01T00:00:00Z';
    const said = {
      id: randomUUID(),
      tenant_id: randomUUID(),
      created_at: past,
      updated_at: past,
      status: 'UNUSED',
      latest_revision_id: randomUUID(),
      active_revision_id: randomUUID(),
      source_revision_config: { graph_config_path: 'graph.json', repo_commit_sha: 'f'.repeat(40) },
    };
    const created = await create('repo_host', said);
    const patched = await platform.patch(created.id, {
      ...said,
      source_revision_config: { repo_commit_sha: 'f'.repeat(40) },
    });
    expect(patched.status).toBe(200);
    expect(patched.json).toMatchObject({
      id: created.id,
      status: 'READY',
      latest_revision_id: created.latest_revision_id,
      active_revision_id: null,
    });
    for (const answer of [created, patched.json]) {
      for (const [field, value] of Object.entries(said)) {
        expect(answer, field).not.toHaveProperty(field, value);
      }
      expect(answer.source_revision_config['repo_commit_sha'] ?? null).toBeNull();
    }
  });

  it.each<[path: string, source: SourceName, value: unknown]>([
    ['source_revision_config.repo_ref', 'repo_host', 'refs/tags/v2'],
    ['source_revision_config.graph_config_path', 'internal_source', 'app/graph.json'],
    ['source_revision_config.image_uri', 'external_image', 'registry.example/agent:2'],
    ['source_revision_config.source_tarball_path', 'internal_source', upload],
    ['secrets', 'internal_source', [{ name: 'A', value: 'c' }]],
    ['source_config.resource_spec', 'external_image', { cpu: 1 }],
  ])(
    'has a new revision after a PATCH of %s, and the earlier one keeps its description',
    async (path, source, given) => {
      const { id, latest_revision_id: before, source_revision_config: config } = await create(source);
      const value: unknown = given === upload ? await upload(id) : given;
      const [outer = '', inner] = path.split('.');
      const patch = async (set: unknown): Promise<AnswerBody> => {
        const body = { [outer]: inner === undefined ? set : { [inner]: set } };
        const { status, json } = await platform.patch(id, body);
        expect(status, JSON.stringify(json)).toBe(200);
        return json;
      };
      expect((await patch(null)).latest_revision_id).toBe(before);
      const { latest_revision_id: after } = await patch(value);
      expect(after).not.toBe(before);

      const now = outer === 'source_revision_config' ? { ...config, [String(inner)]: value } : { ...config };
      expect((await platform.deployment(id)).source_revision_config).toEqual(now);
      const { json } = await platform.call('GET', `/v2/deployments/${id}/revisions`);
      expect(json.resources.map((each) => [each.id, each.source_revision_config])).toEqual([
        [after, now],
        [before, config],
      ]);
    },
  );
});
