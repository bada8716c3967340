import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { publicAnswerProblems } from '../../../../contract/test/controlPlane/publicDocument.ts';
import { type Answer, createBody, TestPlatform } from '../testPlatform.ts';

const platform = TestPlatform.use();

/** The public deploy command's request, except for its name. */
const commandCreates = (name: string = randomUUID()): Record<string, unknown> => ({
  name,
  source: 'internal_source',
  source_config: { deployment_type: 'dev' },
  source_revision_config: {},
});

const publicImage = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  name: randomUUID(),
  source: 'external_docker',
  source_config: {
    resource_spec: { redis_cpu: 0.5, redis_memory_mb: 64, annotations: { cache_cpu: 'github' } },
  },
  source_revision_config: { image_uri: 'registry.example/agent:1' },
  secrets: [{ name: 'repo_host', value: 'external_image' }],
  ...fields,
});

async function made(body: Record<string, unknown>): Promise<Answer['json']> {
  const { status, json } = await platform.post(body);
  expect(status, JSON.stringify(json)).toBe(201);
  return json;
}

const issues = ({ json }: Answer): string[][] =>
  (json.detail as { loc: string[]; msg: string; type: string }[]).map(({ loc, msg, type }) => [
    loc.slice(1).join('.'),
    type,
    msg,
  ]);

describe('a platform that accepts both vocabularies', () => {
  it('accepts what the public deploy command omits, and answers in the public names', async () => {
    const json = await made(commandCreates());
    expect(publicAnswerProblems('POST', '/v2/deployments', 201, json)).toEqual([]);
    expect(json).toMatchObject({
      source: 'internal_source',
      source_config: { deployment_type: 'dev' },
      source_revision_config: { langgraph_config_path: 'langgraph.json' },
      secrets: [],
    });
    expect(json.source_revision_config).not.toHaveProperty('graph_config_path');
  });

  it.each(['serverless', 'dedicated'])('accepts the deployment type %s of newer clients', async (type) => {
    const json = await made({ ...commandCreates(), source_config: { deployment_type: type } });
    expect(json.source_config).toMatchObject({ deployment_type: type });
    const path = `/v2/deployments/${json.id}`;
    const again = { source_config: { deployment_type: type }, revision_source: 'internal_source' };
    expect((await platform.call('PATCH', path, again)).status).toBe(200);
    const { resources } = (await platform.call('GET', `/v2/deployments?deployment_type=${type}`)).json;
    expect(resources.map(({ id }) => id)).toEqual([json.id]);
    const named = { ...createBody(), source: 'repo_host', source_config: { deployment_type: type } };
    const refused = await platform.post(named);
    expect(issues(refused).map(([loc]) => loc)).toContain('source_config.deployment_type');
    // The published document, which checks other answers, does not have these types yet.
    await platform.call('DELETE', path);
    await platform.gone(json.id);
  });

  it('answers a request in the names of the request, at any place', async () => {
    const json = await made(publicImage());
    expect(publicAnswerProblems('POST', '/v2/deployments', 201, json)).toEqual([]);
    expect(json).toMatchObject({
      source: 'external_docker',
      source_config: {
        resource_spec: {
          redis_cpu: 0.5,
          redis_cpu_limit: 1,
          redis_memory_limit_mb: 64,
          annotations: { cache_cpu: 'github' },
        },
      },
      secrets: [{ name: 'repo_host', value: 'external_image' }],
    });
    expect(await made(createBody())).toMatchObject({
      source_revision_config: { graph_config_path: 'graph.json' },
    });
  });

  it('answers a request without names in the names of the deployment’s creation', async () => {
    const { id, latest_revision_id: revision } = await made(publicImage());
    const path = `/v2/deployments/${id}`;
    const read = await platform.call('GET', path);
    expect(read.json).toMatchObject({ source: 'external_docker' });
    expect(publicAnswerProblems('GET', path, 200, read.json)).toEqual([]);
    const patched = await platform.call('PATCH', path, { secrets: [] });
    expect(patched.json).toMatchObject({ source: 'external_docker', secrets: [] });
    const one = await platform.call('GET', `${path}/revisions/${revision}`);
    expect(one.json).toMatchObject({ source: 'external_docker' });
    expect(publicAnswerProblems('GET', `${path}/revisions/${revision}`, 200, one.json)).toEqual([]);
    const list = await platform.call('GET', `${path}/revisions`);
    expect(list.json.resources[0]).toMatchObject({ source: 'external_docker' });
  });

  it('answers a request in its own vocabulary, even if the deployment’s differs', async () => {
    const { id } = await made(commandCreates());
    const patch = { source_revision_config: { graph_config_path: 'src/graph.json' } };
    const { json } = await platform.patch(id, patch);
    expect(json.source_revision_config).toEqual({ graph_config_path: 'src/graph.json' });
    expect((await platform.deployment(id)).source_revision_config).toEqual({
      langgraph_config_path: 'src/graph.json',
    });
  });

  it('lists each deployment in the names of its creation', async () => {
    const mark = randomUUID();
    await made(publicImage({ name: `${mark}-public` }));
    await made(createBody({ name: `${mark}-contract` }));
    const { json } = await platform.call('GET', `/v2/deployments?name_contains=${mark}`);
    expect(
      json.resources
        .map((each) => Object.keys(each.source_revision_config))
        .flat()
        .sort(),
    ).toEqual(['graph_config_path', 'image_uri']);
    expect(json.resources.map((each) => (each as unknown as { source: string }).source).sort()).toEqual([
      'external_docker',
      'internal_source',
    ]);
    expect(json.offset).toBe(2);
  });

  it('remembers a deployment’s vocabulary after a restart', async () => {
    const { id } = await made(publicImage());
    await platform.controlPlane.close();
    await platform.start();
    expect(await platform.deployment(id)).toMatchObject({ source: 'external_docker' });
  });

  it('creates a revision from a public client’s upload and patch', async () => {
    const { id } = await made(commandCreates());
    const path = await platform.upload(id);
    const { status, json } = await platform.patch(id, {
      revision_source: 'internal_source',
      source_revision_config: { source_tarball_path: path, langgraph_config_path: 'agents/langgraph.json' },
      secrets: [],
    });
    expect(status, JSON.stringify(json)).toBe(200);
    expect(json.source_revision_config).toMatchObject({ langgraph_config_path: 'agents/langgraph.json' });
    await platform.reaches(id, json.latest_revision_id, 'DEPLOYED');
    expect(platform.builds.at(-1)?.graphConfigPath).toBe('agents/langgraph.json');
  });

  it('registers and shows a listener in the names of the request', async () => {
    const path = '/v2/listeners';
    const { status, json } = await platform.call('POST', path, {
      compute_type: 'k8s',
      compute_id: 'k8s',
      compute_config: { k8s_namespaces: ['agents'] },
    });
    expect(status, JSON.stringify(json)).toBe(201);
    expect(json).toMatchObject({
      compute_type: 'k8s',
      compute_id: 'k8s',
      compute_config: { k8s_namespaces: ['agents'] },
    });
    const own = { compute_type: 'cluster', compute_id: 'own', compute_config: { cluster_namespaces: [] } };
    expect((await platform.call('POST', path, own)).json).toMatchObject(own);
    const list = await platform.call('GET', path);
    expect(list.json.resources.map((each) => (each as unknown as typeof own).compute_type)).toEqual([
      'cluster',
      'k8s',
    ]);
    expect(publicAnswerProblems('GET', `${path}/${json.id}`, 200, list.json.resources[1])).toEqual([]);
    const made = await platform.post(
      publicImage({
        source_config: { listener_id: json.id, listener_config: { k8s_namespace: 'elsewhere' } },
      }),
    );
    expect(issues(made).map(([loc, type]) => [loc, type])).toEqual([
      ['source_config.listener_config.k8s_namespace', 'namespace_unknown'],
    ]);
  });

  it('reports problems of a public request in public names', async () => {
    const refused = await platform.post(
      publicImage({
        source_config: { resource_spec: { redis_cpu: 100 }, listener_config: { k8s_namespace: 'a' } },
        source_revision_config: { langgraph_config_path: 'langgraph.json' },
      }),
    );
    expect(refused.status).toBe(422);
    expect(issues(refused)).toEqual([
      ['source_config.resource_spec.redis_cpu', 'less_than_equal', 'Input should be less than or equal to 8'],
      [
        'source_revision_config.langgraph_config_path',
        'not_applicable',
        'Only for source github or internal_source',
      ],
      ['source_config.listener_id', 'missing', 'Required by source_config.listener_config.k8s_namespace'],
    ]);
  });

  it('has one source per deployment: another revision_source is rejected under its own name', async () => {
    const { id } = await made(commandCreates());
    const refused = await platform.patch(id, {
      revision_source: 'internal_docker',
      source_revision_config: { image_uri: 'registry.example/agent:1' },
    });
    expect(refused.status).toBe(422);
    expect(issues(refused).map(([loc, type]) => [loc, type])).toContainEqual([
      'revision_source',
      'immutable',
    ]);
  });

  it('rejects a request that mixes the vocabularies', async () => {
    const mixed = publicImage({ source: 'external_image' });
    const refused = await platform.post(mixed);
    expect(refused.status).toBe(422);
    expect(issues(refused).map(([loc, type]) => [loc, type])).toEqual([
      ['source_config.resource_spec.redis_cpu', 'vocabulary_mixed'],
      ['source_config.resource_spec.redis_memory_mb', 'vocabulary_mixed'],
    ]);
  });

  it('validates a request in the contract’s names against the contract', async () => {
    const { secrets: _, ...withoutSecrets } = createBody();
    expect((await platform.post(withoutSecrets)).status).toBe(422);
    const foreign = { ...createBody(), source_config: { deployment_type: 'dev' } };
    const refused = await platform.post(foreign);
    expect(issues(refused).map(([loc]) => loc)).toEqual(['source_config.deployment_type']);
    const unnamed = { ...createBody(), source_revision_config: {} };
    expect((await platform.post(unnamed)).status).toBe(422);
  });
});

describe('a platform that accepts one vocabulary', () => {
  it('treats public names as unknown if it accepts the contract’s', async () => {
    await platform.controlPlane.close();
    await platform.start({ vocabulary: 'contract' });
    const refused = await platform.post(publicImage());
    expect(issues(refused).map(([loc, type]) => [loc, type])).toEqual([['source', 'enum']]);
    expect((await platform.post(commandCreates())).status).toBe(422);
    const { id } = await made(createBody());
    expect((await platform.deployment(id)).source_revision_config).toEqual({
      graph_config_path: 'graph.json',
    });
  });

  it('rejects the contract’s names if it accepts the public ones, and answers in those', async () => {
    const { id } = await made(createBody());
    await platform.controlPlane.close();
    await platform.start({ vocabulary: 'public' });
    const refused = await platform.post(createBody());
    expect(issues(refused).map(([loc, type]) => [loc, type])).toEqual([
      ['source_revision_config.graph_config_path', 'vocabulary_unknown'],
    ]);
    expect((await platform.deployment(id)).source_revision_config).toEqual({
      langgraph_config_path: 'graph.json',
    });
    const { json } = await platform.call('GET', '/v2/deployments');
    expect(publicAnswerProblems('GET', '/v2/deployments', 200, json)).toEqual([]);
  });
});
