import { randomUUID } from 'node:crypto';

import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';

import { AuditList } from '@slipway/contract/controlPlane/access';
import { removeOldAudit } from '../../src/access/audit.ts';
import { API_KEY, TestPlatform } from '../controlPlane/testPlatform.ts';
import { CREATES } from '../../../contract/test/controlPlane/requests.ts';

const platform = TestPlatform.use();

async function audit(query = '', headers: Record<string, string> = {}): Promise<AuditList> {
  const { status, json } = await platform.call('GET', `/v1/audit?${query}`, undefined, headers);
  expect(status).toBe(200);
  return AuditList.parse(json);
}

describe('the record of changes', () => {
  it('records who changed what, without the values', async () => {
    const made = await platform.call('POST', '/v1/api-keys', { name: 'release job', scope: 'deploy' });
    const as = { 'x-api-key': made.json.key, 'user-agent': 'curl/8' };
    const created = await platform.post(
      {
        ...CREATES.internal_source,
        name: 'audited',
        source_config: { build_command: 'echo hunter2-hunter2' },
        secrets: [{ name: 'TOKEN', value: 'hunter2-hunter2' }],
        'hunter2-hunter2': 1,
      },
      as,
    );
    const { id, latest_revision_id: revision } = created.json;
    await platform.patch(id, { secrets: [] }, as);
    await platform.call('DELETE', `/v2/deployments/${id}`, undefined, as);

    const { resources } = await audit(`resource_id=${id}`);
    expect(resources.map(({ operation }) => operation)).toEqual([
      'deleteDeployment',
      'patchDeployment',
      'createDeployment',
    ]);
    expect(resources[2]).toMatchObject({
      key_id: made.json.id,
      key_name: 'release job',
      resources: { deployment_id: id, revision_id: revision },
      outcome: 'done',
      user_agent: 'curl/8',
    });
    expect(resources[2]?.changed).toEqual([
      'name',
      'source',
      'source_config.build_command',
      'source_revision_config.graph_config_path',
      'secrets',
    ]);
    expect(resources[1]?.changed).toEqual(['secrets']);
    const { resources: all } = await audit('limit=100');
    expect(all.find(({ operation }) => operation === 'createApiKey')).toMatchObject({ key_id: 'operator' });
    expect(JSON.stringify(all)).not.toMatch(/hunter2|slipway_/);
  });

  it('has rejected requests with their responses, and no reads', async () => {
    const id = randomUUID();
    await platform.patch(id, {});
    await platform.post({});
    for (const method of ['GET', 'HEAD'])
      await platform.app.request(`/v2/deployments/${id}`, { method, headers: { 'x-api-key': API_KEY } });
    await platform.call('POST', `/v1/projects/${id}/revisions/${id}/build_logs`, {});
    const { resources } = await audit(`resource_id=${id}`);
    expect(resources).toMatchObject([{ operation: 'patchDeployment', outcome: 'refused', status: 404 }]);
    const refused = await audit('operation=createDeployment&outcome=refused');
    expect(refused.resources).toMatchObject([{ status: 422 }]);
  });

  it('has uploads under the key that requested their URL, also rejected ones', async () => {
    const made = await platform.call('POST', '/v1/api-keys', { name: 'uploader', scope: 'deploy' });
    const as = { 'x-api-key': made.json.key };
    const id = await platform.create('uploaded to');
    const offered = await platform.call('POST', `/deployments/${id}/upload-url`, { content_length: 7 }, as);
    const { pathname } = new URL(offered.json.upload_url);
    const put = async (body: string): Promise<number> =>
      (await platform.app.request(pathname, { method: 'PUT', body, headers: { 'user-agent': 'curl/8' } }))
        .status;
    expect([await put('short'), await put('tarball'), await put('tarball')]).toEqual([400, 200, 409]);

    const { resources } = await audit(`operation=putUpload&resource_id=${id}`);
    const by = {
      key_id: made.json.id,
      key_name: 'uploader',
      user_agent: 'curl/8',
      resources: { deployment_id: id, object_path: offered.json.object_path },
    };
    expect(resources).toMatchObject([
      { ...by, outcome: 'refused', status: 409 },
      { ...by, outcome: 'done', status: null },
      { ...by, outcome: 'refused', status: 400 },
    ]);
  });

  it('is written in the same transaction as the change', async () => {
    const id = await platform.create('one transaction');
    await sql`alter table audit_entries add constraint broken check (operation <> 'patchDeployment') not valid`.execute(
      platform.kysely,
    );
    const { latest_revision_id: before } = await platform.deployment(id);
    expect((await platform.patch(id, { secrets: [] })).status).toBe(500);
    expect((await platform.deployment(id)).latest_revision_id).toBe(before);
    await sql`alter table audit_entries drop constraint broken`.execute(platform.kysely);
  });

  it('is separate for each tenant, in pages, newest first', async () => {
    const tenant = { 'x-tenant-id': randomUUID() };
    for (const name of ['one', 'two', 'three']) {
      await platform.call('POST', '/v1/api-keys', { name, scope: 'read' }, tenant);
    }
    const page = await audit('limit=2', tenant);
    expect(page.resources).toHaveLength(2);
    const rest = await audit(`limit=2&offset=${page.offset}`, tenant);
    expect(rest.resources).toHaveLength(1);
    const ids = [...page.resources, ...rest.resources].map(({ id }) => Number(id));
    expect(ids).toEqual(ids.toSorted((a, b) => b - a));
    expect((await audit('', { 'x-tenant-id': randomUUID() })).resources).toEqual([]);
    const now = new Date().toISOString();
    expect((await audit(`until=${now}`, tenant)).resources).toHaveLength(3);
    expect((await audit(`since=${now}`, tenant)).resources).toEqual([]);
  });

  it('is kept for the configured time', async () => {
    await platform.create('kept');
    await removeOldAudit(platform.kysely, 3_600_000);
    expect((await audit()).resources).not.toEqual([]);
    await removeOldAudit(platform.kysely, -1_000);
    expect((await audit()).resources).toEqual([]);
  });
});
