import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { Deployment, DeploymentsList } from '@slipway/contract/controlPlane/deployment';
import { CONTROL_PLANE_ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import { Revision } from '@slipway/contract/controlPlane/revision';
import type { Endpoint } from '@slipway/contract/endpoint';
import { HttpValidationError } from '@slipway/contract/httpErrors';
import { DEFAULT_TENANT_ID } from '../../../src/access/caller.ts';
import { type AnswerBody, API_KEY, createBody, TestPlatform } from '../testPlatform.ts';

const platform = TestPlatform.use();

const locations = (json: AnswerBody): string[] =>
  HttpValidationError.parse(json).detail.map((issue) => issue.loc.join('.'));

describe('every endpoint of the contract', () => {
  const endpoints: [string, Endpoint][] = Object.entries(CONTROL_PLANE_ENDPOINTS);

  it.each(endpoints)('%s requires the API key', async (_, { method, path }) => {
    const url = path.replaceAll(/\{\w+\}/g, randomUUID());
    const without = await platform.app.request(url, { method });
    expect(without.status).toBe(401);
    const wrong = await platform.app.request(url, { method, headers: { 'x-api-key': 'wrong' } });
    expect(wrong.status).toBe(403);
    expect(await wrong.json()).toEqual({ detail: expect.any(String) });
  });

  const withPath = endpoints.filter(([, { params }]) => params !== undefined);
  it.each(withPath)('%s answers 422 for an id that is not a uuid', async (_, { method, path }) => {
    const { status, json } = await platform.call(method, path.replaceAll(/\{\w+\}/g, 'x'));
    expect(status).toBe(422);
    expect(locations(json)[0]).toMatch(/^path\./);
  });
});

it('redeployRevision accepts each of the three ways to name the caller', async () => {
  const { id, revision } = await platform.deployed('three ways');
  const redeployed = async (headers: Record<string, string>): Promise<number> => {
    const path = `/v2/deployments/${id}/revisions/${revision}/redeploy`;
    return (await platform.app.request(path, { method: 'POST', headers })).status;
  };
  const key = { 'x-api-key': API_KEY };
  const bearer = { authorization: `Bearer ${API_KEY}` };
  expect(await redeployed(key)).toBe(200);
  for (const credential of [key, bearer]) {
    await platform.reaches(id, revision, 'DEPLOYED');
    expect(await redeployed({ ...credential, 'x-tenant-id': DEFAULT_TENANT_ID })).toBe(200);
    expect(await redeployed({ ...credential, 'x-tenant-id': randomUUID() })).toBe(404);
  }
  await platform.reaches(id, revision, 'DEPLOYED');
  expect(await redeployed(bearer)).toBe(200);
  expect(await redeployed({ 'x-tenant-id': DEFAULT_TENANT_ID })).toBe(401);
});

describe('creating a deployment', () => {
  it('answers 201 with the deployment, its first revision, and its stable address', async () => {
    const { status, json, headers } = await platform.post(
      createBody({ name: 'created', secrets: [{ name: 'A', value: 'b' }] }),
    );
    expect(status).toBe(201);
    expect(headers.get('cache-control')).toBe('no-store');
    const deployment = Deployment.parse(json);
    expect(deployment).toMatchObject({
      name: 'created',
      source: 'internal_source',
      status: 'READY',
      source_revision_config: { graph_config_path: 'graph.json' },
      secrets: [{ name: 'A', value: 'b' }],
      active_revision_id: null,
    });
    expect(deployment.source_config.custom_url).toBe(`http://localhost/agents/${deployment.id}`);
    const revision = await platform.call(
      'GET',
      `/v2/deployments/${deployment.id}/revisions/${deployment.latest_revision_id}`,
    );
    expect(Revision.parse(revision.json)).toMatchObject({
      source: 'internal_source',
      source_revision_config: { graph_config_path: 'graph.json' },
    });
    expect((await platform.call('GET', `/v2/deployments/${deployment.id}`)).json).toMatchObject({
      id: json.id,
    });
  });

  it('creates a tracing project of that name, and answers 409 if one exists, also for two at the same time', async () => {
    const id = await platform.create('taken');
    const projects = await platform.kysely
      .selectFrom('tracing_projects')
      .select('name')
      .where('deployment_id', '=', id)
      .execute();
    expect(projects).toEqual([{ name: 'taken' }]);
    const again = await platform.post(createBody({ name: 'taken' }));
    expect(again.status).toBe(409);
    expect(again.json).toEqual({ detail: expect.stringContaining("'taken'") });
    await platform.kysely
      .insertInto('tracing_projects')
      .values({
        id: randomUUID(),
        tenant_id: DEFAULT_TENANT_ID,
        name: 'traced already',
        created_at: new Date(),
      })
      .execute();
    expect((await platform.post(createBody({ name: 'traced already' }))).status).toBe(409);
    const both = await Promise.all([1, 2].map(() => platform.post(createBody({ name: 'at once' }))));
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  it('rejects what the contract rejects, with its place, and stores nothing', async () => {
    const { status, json } = await platform.post({
      name: 'refused',
      source: 'internal_source',
      source_config: { repo_url: 'https://example.com/x.git' },
      source_revision_config: {},
    });
    expect(status).toBe(422);
    expect(locations(json)).toContain('body.secrets');
    const { json: list } = await platform.call('GET', '/v2/deployments?name_contains=refused');
    expect(list.resources).toEqual([]);
  });

  it('rejects every source_tarball_path, also beside public names, because none can exist yet', async () => {
    const uploaded = await platform.upload(await platform.create('uploaded to'));
    for (const source_revision_config of [
      { graph_config_path: 'graph.json', source_tarball_path: 'made/up.tar.gz' },
      { graph_config_path: 'graph.json', source_tarball_path: uploaded },
      { langgraph_config_path: 'langgraph.json', source_tarball_path: uploaded },
    ]) {
      const { status, json } = await platform.post(createBody({ source_revision_config }));
      expect(status).toBe(422);
      expect(json.detail).toEqual([
        {
          loc: ['body', 'source_revision_config', 'source_tarball_path'],
          msg: expect.any(String),
          type: 'path_unknown',
        },
      ]);
    }
    const { status } = await platform.post(
      createBody({ source_revision_config: { graph_config_path: 'graph.json', source_tarball_path: null } }),
    );
    expect(status).toBe(201);
  });

  it('rejects a body of more than 1 MB with 413', async () => {
    const { status } = await platform.post(createBody({ more: 'x'.repeat(1_100_000) }));
    expect(status).toBe(413);
  });
});

describe('a PATCH', () => {
  it('creates a revision only for the revision-creating fields', async () => {
    // Each of them alone is in `deploymentFields.test.ts`.
    const id = await platform.create('makes revisions');
    const { latest_revision_id: first } = await platform.deployment(id);
    for (const patched of [
      {},
      { source_config: { build_command: 'npm run build' } },
      { secrets: null, source_revision_config: { graph_config_path: null } },
    ]) {
      const { status, json } = await platform.patch(id, patched);
      expect([status, json.latest_revision_id], JSON.stringify(json)).toEqual([200, first]);
    }
    expect((await platform.deployment(id)).source_config['build_command']).toBe('npm run build');
    const { json } = await platform.patch(id, { secrets: [] });
    expect(json.latest_revision_id).not.toBe(first);
  });

  it('replaces the whole list of secrets, and keeps it if absent', async () => {
    const id = await platform.create('secrets', { secrets: [{ name: 'A', value: '1' }] });
    const kept = await platform.patch(id, { source_revision_config: { graph_config_path: 'b/graph.json' } });
    expect(kept.json.secrets).toEqual([{ name: 'A', value: '1' }]);
    const replaced = await platform.patch(id, { secrets: [{ name: 'B', value: '2' }] });
    expect(replaced.json.secrets).toEqual([{ name: 'B', value: '2' }]);
  });

  it('accepts only an object path of its own upload-url with an upload', async () => {
    const id = await platform.create('paths');
    const other = await platform.create('other paths');
    const patch = (path: string) =>
      platform.patch(id, { source_revision_config: { source_tarball_path: path } });
    const { latest_revision_id: before } = await platform.deployment(id);
    const { json: offer } = await platform.call('POST', `/v2/deployments/${id}/upload-url`);
    const refused = ['made/up.tar.gz', await platform.upload(other), offer.object_path];
    for (const path of refused) {
      const { status, json } = await patch(path);
      expect(status).toBe(422);
      expect(locations(json)).toEqual(['body.source_revision_config.source_tarball_path']);
    }
    expect((await platform.deployment(id)).latest_revision_id).toBe(before);
    expect((await patch(await platform.upload(id))).status).toBe(200);
  });

  it('rejects a change of immutable fields', async () => {
    const id = await platform.create('immutable');
    const { status, json } = await platform.patch(id, { name: 'renamed' });
    expect(status).toBe(422);
    expect(locations(json)).toEqual(['body.name']);
  });
});

describe('lists', () => {
  it('are newest first, in pages, filtered by name and status', async () => {
    const names = ['list Ä one', 'list % two', 'list three'];
    for (const name of names) await platform.create(name);
    const list = async (query: string) => {
      const { status, json } = await platform.call('GET', `/v2/deployments?${query}`);
      expect(status).toBe(200);
      return DeploymentsList.parse(json);
    };
    const page = await list('name_contains=list&limit=2');
    expect(page.resources.map(({ name }) => name)).toEqual(['list three', 'list % two']);
    expect(page.offset).toBe(2);
    const rest = await list(`name_contains=list&limit=2&offset=${page.offset}`);
    expect(rest.resources.map(({ name }) => name)).toEqual(['list Ä one']);
    expect(rest.offset).toBe(3);
    expect((await list('name_contains=%25')).resources.map(({ name }) => name)).toEqual(['list % two']);
    expect((await list('name_contains=list&status=UNUSED')).resources).toEqual([]);
    expect((await platform.call('GET', '/v2/deployments?limit=0')).status).toBe(422);
    expect((await platform.call('GET', '/v2/deployments?limit=101')).status).toBe(422);
  });

  it('are filtered like the public document’s: by ids, type and image version; every filter applies', async () => {
    const typed = { source: 'repo_host', source_config: { deployment_type: 'prod' } };
    const one = await platform.create('filtered one', { ...typed, image_version: '7.1' });
    const two = await platform.create('filtered two', typed);
    const three = await platform.create('filtered three');
    const ids = async (query: string): Promise<string[]> => {
      const { json } = await platform.call('GET', `/v2/deployments?name_contains=filtered&${query}`);
      return json.resources.map(({ id }) => id);
    };
    expect(await ids(`deployment_ids=${one},${three.toUpperCase()},${randomUUID()}`)).toEqual([three, one]);
    expect(await ids(`deployment_ids=${one}&deployment_ids=${two}`)).toEqual([two, one]);
    expect(await ids('deployment_ids=')).toEqual([three, two, one]);
    expect(await ids('deployment_type=prod')).toEqual([two, one]);
    expect(await ids('deployment_type=prod&image_version=7.1')).toEqual([one]);
    expect(await ids('remote_reconciled=true')).toEqual([three, two, one]);
    expect(await ids('remote_reconciled=false')).toEqual([]);
    expect(await ids('tag_value_ids=a')).toEqual([]);
    expect((await platform.call('GET', '/v2/deployments?deployment_ids=x')).status).toBe(422);
    const revisions = await platform.call('GET', `/v2/deployments/${one}/revisions?remote_reconciled=false`);
    expect(revisions.json.resources).toEqual([]);
  });

  it('of revisions are filtered by several statuses', async () => {
    const { id } = await platform.deployed('revision list');
    const list = async (status: string): Promise<string[]> => {
      const { json } = await platform.call('GET', `/v2/deployments/${id}/revisions?status=${status}`);
      return json.resources.map((each) => each.status);
    };
    expect(await list('DEPLOYED')).toEqual(['DEPLOYED']);
    expect(await list('SKIPPED,DEPLOYED')).toEqual(['DEPLOYED', 'SKIPPED']);
    expect(await list('NO_SUCH_STATUS')).toEqual([]);
  });
});

describe('the logs of a revision', () => {
  it('are read in pages, in both orders', async () => {
    const id = await platform.create('logs');
    const { onBuild } = platform;
    platform.onBuild = async (build) => {
      for (let i = 0; i < 5; i++) build.log(`line ${i}\0\uD800`);
      return onBuild(build);
    };
    const revision = await platform.release(id, 'DEPLOYED');
    platform.onBuild = onBuild;
    const read = async (request: unknown) => {
      const path = `/v1/projects/${id}/revisions/${revision}/build_logs`;
      const { status, json } = await platform.call('POST', path, request);
      expect(status, JSON.stringify(json)).toBe(200);
      return { lines: json.logs.map((each) => each.message), next: json.next_offset };
    };
    const first = await read({ order: 'asc', limit: 4 });
    expect(first.lines).toEqual([0, 1, 2, 3].map((i) => `line ${i}\uFFFD\uFFFD`));
    const second = await read({ order: 'asc', limit: 4, offset: first.next });
    expect(second.lines).toEqual(['line 4\uFFFD\uFFFD', 'built']);
    expect(second.next).toBeNull();
    expect((await read({ order: 'desc', limit: 1 })).lines).toEqual(['built']);
    expect((await read(undefined)).lines).toHaveLength(6);
    const bad = await platform.call('POST', `/v1/projects/${id}/revisions/${revision}/build_logs`, {
      offset: 'x',
    });
    expect(bad.status).toBe(422);
    expect(bad.json).toMatchObject({ detail: [{ msg: 'Input should be the id of a line' }] });
  });
});

describe('an upload URL', () => {
  it('is rejected for a source without uploads', async () => {
    const { json } = await platform.post({
      ...createBody({ source: 'external_image' }),
      source_revision_config: {},
    });
    const { status } = await platform.call('POST', `/v2/deployments/${json.id}/upload-url`);
    expect(status).toBe(400);
  });
});

describe('secrets', () => {
  it('are never in plain text in the database or the logs', async () => {
    const { revision } = await platform.deployed('sealed', {
      secrets: [{ name: 'TOKEN', value: 'hunter2-hunter2' }],
    });
    expect(platform.agentOf(revision).env['TOKEN']).toBe('hunter2-hunter2');
    const rows = [
      ...(await platform.kysely.selectFrom('deployments').selectAll().execute()),
      ...(await platform.kysely.selectFrom('revisions').selectAll().execute()),
    ];
    expect(JSON.stringify(rows)).not.toContain('hunter2');
    expect(platform.logged.join('')).not.toContain('hunter2');
  });

  it('cannot detach an agent from its platform', async () => {
    const { id, revision } = await platform.deployed('disguised', {
      secrets: [{ name: 'SLIPWAY_AGENT_DEPLOYMENT_ID', value: 'another' }],
    });
    expect(platform.agentOf(revision).env['SLIPWAY_AGENT_DEPLOYMENT_ID']).toBe(id);
  });
});
