import { describe, expect, it } from 'vitest';

import { type Answer, createBody, TestPlatform } from './testPlatform.ts';

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

const platform = TestPlatform.use();

function register(computeId: string, more: Record<string, unknown> = {}): Promise<Answer> {
  return platform.call('POST', '/v2/listeners', {
    compute_type: 'cluster',
    compute_id: computeId,
    compute_config: { cluster_namespaces: ['agents'] },
    ...more,
  });
}

/** Creates a deployment of an image with this `source_config`. */
function deploy(sourceConfig: Record<string, unknown>, name: string = crypto.randomUUID()): Promise<Answer> {
  const image = { source: 'external_image', source_revision_config: {} };
  return platform.post(createBody({ name, ...image, source_config: sourceConfig }));
}

/** Sends a deployment's `source_config` back as it was returned, or with a change. */
async function patchConfig(id: string, sourceConfig: Record<string, unknown>): Promise<Answer> {
  const answer = await platform.patch(id, { source_config: sourceConfig });
  expect(answer.status, JSON.stringify(answer.json)).toBe(200);
  return answer;
}

function problemsOf({ status, json }: Answer): [number, [string, string][]] {
  const issues = json.detail as { loc: (string | number)[]; type: string }[];
  return [status, issues.map(({ loc, type }) => [loc.join('.'), type])];
}

describe('a listener', () => {
  it('is registered, read, changed and removed', async () => {
    const created = await register('cluster one', { version: '1.2.0' });
    expect(created.status).toBe(201);
    expect(created.json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      version: '1.2.0',
      compute_type: 'cluster',
      compute_id: 'cluster one',
      compute_config: { cluster_namespaces: ['agents'] },
      created_at: expect.any(String) as string,
      updated_at: expect.any(String) as string,
    });
    const path = `/v2/listeners/${created.json.id}`;
    expect((await platform.call('GET', path)).json).toEqual(created.json);

    const patch = { version: null, compute_config: { cluster_namespaces: ['agents', 'more'] } };
    const patched = await platform.call('PATCH', path, patch);
    expect(patched.status).toBe(200);
    expect(patched.json).toMatchObject({ version: '1.2.0', compute_config: patch.compute_config });

    expect((await platform.call('DELETE', path)).status).toBe(204);
    for (const method of ['GET', 'DELETE'] as const) {
      const { status, json } = await platform.call(method, path);
      expect([status, json.detail]).toEqual([404, `Listener ID ${created.json.id} not found.`]);
    }
  });

  it('has a unique compute id', async () => {
    expect((await register('taken')).status).toBe(201);
    const { status, json } = await register('taken', { compute_type: 'docker', compute_config: {} });
    expect([status, json.detail]).toEqual([409, "A listener for compute ID 'taken' already exists."]);
  });

  it.each([
    ['compute_type', { compute_type: 'vm' }, 'compute_type', 'enum'],
    ['compute_id', { compute_id: '' }, 'compute_id', 'string_too_short'],
    [
      'namespaces',
      { compute_config: { cluster_namespaces: ['No Label'] } },
      'compute_config.cluster_namespaces.0',
      'string_format',
    ],
    [
      'the same namespace twice',
      { compute_config: { cluster_namespaces: ['a', 'a'] } },
      'compute_config.cluster_namespaces.1',
      'duplicate',
    ],
    [
      'namespaces of another compute type',
      { compute_type: 'docker' },
      'compute_config.cluster_namespaces',
      'not_applicable',
    ],
  ])('is rejected for its %s', async (_, wrong, place, type) => {
    expect(problemsOf(await register('refused', wrong))).toEqual([422, [[`body.${place}`, type]]]);
  });

  it('keeps its compute type and its compute id', async () => {
    const { json } = await register('kept');
    const path = `/v2/listeners/${json.id}`;
    expect((await platform.call('PATCH', path, json)).status).toBe(200);
    expect(
      problemsOf(await platform.call('PATCH', path, { compute_type: 'docker', compute_id: 'x' })),
    ).toEqual([
      422,
      [
        ['body.compute_type', 'immutable'],
        ['body.compute_id', 'immutable'],
      ],
    ]);
  });

  it('is listed, newest first, in pages', async () => {
    const ids: string[] = [];
    for (const name of ['page 1', 'page 2', 'page 3']) ids.unshift((await register(name)).json.id);
    const first = (await platform.call('GET', '/v2/listeners?limit=2')).json;
    expect(first.resources.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect(first.offset).toBe(2);
    const next = (await platform.call('GET', '/v2/listeners?limit=1&offset=2')).json;
    expect(next.resources.map(({ id }) => id)).toEqual(ids.slice(2));
    expect((await platform.call('GET', '/v2/listeners?limit=0')).status).toBe(422);
  });
});

describe('a deployment with a listener', () => {
  it('must name a registered one', async () => {
    expect(problemsOf(await deploy({ listener_id: UNKNOWN }))).toEqual([
      422,
      [['body.source_config.listener_id', 'listener_unknown']],
    ]);
  });

  it('must match the listener’s compute type', async () => {
    const cluster = (await register('has namespaces')).json.id;
    const engine = (await register('has none', { compute_type: 'docker', compute_config: {} })).json.id;
    const place = 'body.source_config.listener_config.cluster_namespace';
    const config = (id: string, namespace: string) => ({
      listener_id: id,
      listener_config: { cluster_namespace: namespace },
    });
    expect(problemsOf(await deploy(config(cluster, 'others')))).toEqual([
      422,
      [[place, 'namespace_unknown']],
    ]);
    expect(problemsOf(await deploy(config(engine, 'agents')))).toEqual([422, [[place, 'not_applicable']]]);
    const { status, json } = await deploy(config(cluster, 'agents'));
    expect(status).toBe(201);
    expect(json.source_config).toMatchObject(config(cluster, 'agents'));
  });

  it('keeps its namespace after a PATCH without it, even if the listener dropped it', async () => {
    const listener = (await register('gives up')).json.id;
    const agents = { listener_config: { cluster_namespace: 'agents' } };
    const { json } = await deploy({ listener_id: listener, ...agents });
    await platform.call('PATCH', `/v2/listeners/${listener}`, {
      compute_config: { cluster_namespaces: ['b'] },
    });
    for (const config of [{}, { cluster_namespace: null }, { cluster_namespace: 'agents' }]) {
      const patched = await patchConfig(json.id, { listener_config: config });
      expect(patched.json.source_config).toMatchObject(agents);
    }
    const moved = await platform.patch(json.id, {
      source_config: { listener_config: { cluster_namespace: 'elsewhere' } },
    });
    expect(problemsOf(moved)).toEqual([
      422,
      ['immutable', 'namespace_unknown'].map((type) => [
        'body.source_config.listener_config.cluster_namespace',
        type,
      ]),
    ]);
  });

  it('prevents the listener’s removal', async () => {
    const listener = (await register('in use')).json.id;
    await deploy({ listener_id: listener }, 'its user');
    const { status, json } = await platform.call('DELETE', `/v2/listeners/${listener}`);
    expect([status, json.detail]).toEqual([409, `Listener ID ${listener} is used by deployment 'its user'.`]);
  });
});

describe('a resource_spec', () => {
  it('is stored as sent, and returned with the defaults of its table', async () => {
    const { json } = await deploy({ resource_spec: { cpu: 0.55, memory_mb: 512 } });
    const answered = {
      cpu: 0.6,
      cpu_limit: 1.2,
      memory_mb: 512,
      memory_limit_mb: 1024,
      queue_cpu: 0.6,
      queue_cpu_limit: 1.2,
      queue_memory_mb: 512,
      queue_memory_limit_mb: 1024,
    };
    expect(json.source_config['resource_spec']).toEqual(answered);
    const row = await platform.kysely
      .selectFrom('deployments')
      .select('source_config')
      .where('id', '=', json.id)
      .executeTakeFirstOrThrow();
    expect(row.source_config['resource_spec']).toEqual({ cpu: 0.6, memory_mb: 512 });
    // A deployment's config can be sent back, and replaces the stored one.
    const again = await patchConfig(json.id, json.source_config);
    expect(again.json.source_config['resource_spec']).toEqual(answered);
  });

  it('is overwritten whole by a PATCH', async () => {
    const { json } = await deploy({ resource_spec: { cpu: 1, labels: { team: 'agents' } } });
    const patched = await patchConfig(json.id, { resource_spec: { memory_mb: 512 } });
    expect(patched.json.source_config['resource_spec']).toEqual({
      memory_mb: 512,
      memory_limit_mb: 1024,
      queue_memory_mb: 512,
      queue_memory_limit_mb: 1024,
    });
  });

  it('with the largest numbers can be sent back as returned', async () => {
    const { json } = await deploy({ resource_spec: { memory_mb: 2_147_483_647, db_cpu: 1_500_000_000 } });
    await patchConfig(json.id, json.source_config);
  });
});
