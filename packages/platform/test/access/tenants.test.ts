import { randomUUID } from 'node:crypto';

import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';

import { CONTROL_PLANE_ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import type { Endpoint } from '@slipway/contract/endpoint';
import { type Answer, TestPlatform } from '../controlPlane/testPlatform.ts';
import { CREATES } from '../../../contract/test/controlPlane/requests.ts';

const ALICE = randomUUID();
const BOB = randomUUID();
const LISTENER = { compute_type: 'docker', compute_id: 'the machine', compute_config: {} };

const platform = TestPlatform.use();
let deploymentId: string;
let revisionId: string;
let listenerId: string;
let keyId: string;
let integrationId: string;
/** The other tenant's key, which allows everything there. */
let bobsKey: string;

beforeAll(async () => {
  ({ deploymentId, revisionId } = await deploy(ALICE, 'agent'));
  const listener = await as(ALICE, 'POST', '/v2/listeners', LISTENER);
  listenerId = listener.json.id;
  ({ id: integrationId } = (
    await as(ALICE, 'POST', '/v1/integrations/github/install', {
      name: 'host',
      url_prefix: 'https://git.example/',
    })
  ).json);
  bobsKey = (await as(BOB, 'POST', '/v1/api-keys', { name: 'admin', scope: 'admin' })).json.key;
  ({ id: keyId } = (await as(ALICE, 'POST', '/v1/api-keys', { name: 'ci', scope: 'deploy' })).json);
});

const as = (tenantId: string, method: string, path: string, body?: unknown): Promise<Answer> =>
  platform.call(method, path, body, { 'x-tenant-id': tenantId });

async function deploy(tenantId: string, name: string) {
  const { status, json } = await as(tenantId, 'POST', '/v2/deployments', {
    ...CREATES.internal_source,
    name,
    secrets: [{ name: 'TOKEN', value: 'hunter2-hunter2' }],
  });
  expect(status).toBe(201);
  return { deploymentId: json.id, revisionId: json.latest_revision_id };
}

async function stored(tenantId: string): Promise<string> {
  const { kysely } = platform;
  const deployments = await kysely
    .selectFrom('deployments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .execute();
  const ids = deployments.map(({ id }) => id);
  return JSON.stringify([
    deployments,
    await kysely.selectFrom('revisions').selectAll().where('deployment_id', 'in', ids).execute(),
    await kysely.selectFrom('uploads').selectAll().where('deployment_id', 'in', ids).execute(),
    await kysely.selectFrom('listeners').selectAll().where('tenant_id', '=', tenantId).execute(),
    await kysely.selectFrom('integrations').selectAll().where('tenant_id', '=', tenantId).execute(),
    await kysely.selectFrom('tracing_projects').selectAll().where('tenant_id', '=', tenantId).execute(),
    await sql`select * from api_keys where ${tenantId}::uuid = any (tenant_ids)`.execute(kysely),
  ]);
}

/** The kinds of ids in paths, except for deployments. */
const KINDS: Readonly<Record<string, string>> = {
  listener_id: 'Listener',
  integration_id: 'Integration',
  key_id: 'API key',
};

/** The other tenant's requests to endpoints without ids in their paths, about the first tenant's objects. */
const WITHOUT_IDS: Readonly<Record<string, () => { query?: string; body?: unknown }>> = {
  createDeployment: () => ({
    body: { ...CREATES.external_image, source_config: { listener_id: listenerId } },
  }),
  listDeployments: () => ({ query: `deployment_ids=${deploymentId}` }),
  deleteDeployments: () => ({ query: `deployment_ids=${deploymentId}` }),
  listIntegrations: () => ({}),
  createIntegration: () => ({ body: { name: 'host', url_prefix: 'https://git.example/' } }),
  listListeners: () => ({}),
  createListener: () => ({ body: LISTENER }),
  createApiKey: () => ({ body: { name: 'ci', scope: 'admin', tenant_ids: [ALICE] } }),
  listApiKeys: () => ({ query: 'revoked=true' }),
  listAudit: () => ({ query: `resource_id=${deploymentId}` }),
  rotateSecrets: () => ({}),
};

describe('the resources of a tenant', () => {
  const endpoints: [string, Endpoint][] = Object.entries(CONTROL_PLANE_ENDPOINTS);

  it.each(endpoints)(
    'are neither visible to the key of another tenant, nor changed by it: %s',
    async (name, endpoint) => {
      const before = await stored(ALICE);
      const ids: Record<string, string> = {
        listener_id: listenerId,
        integration_id: integrationId,
        key_id: keyId,
        project_id: deploymentId,
        deployment_id: deploymentId,
        revision_id: revisionId,
      };
      const [, named = ''] = /\{(\w+)\}/.exec(endpoint.path) ?? [];
      const { query = '', body } =
        endpoint.params === undefined
          ? WITHOUT_IDS[name]!()
          : { query: '', body: endpoint.method === 'PATCH' ? {} : undefined };
      const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_match, each: string) => ids[each] ?? '');
      const own = { 'x-api-key': bobsKey };
      const { status, json } = await platform.call(endpoint.method, `${path}?${query}`, body, own);
      // Lists are empty; created objects belong to the caller.
      const isOpen =
        endpoint.params === undefined && (endpoint.method === 'GET' || name === 'createListener');
      if (!isOpen) expect([403, 404, 422]).toContain(status);
      // 403 is for actions that only the platform's own key allows.
      if (named !== '' && status !== 403)
        expect({ status, json }).toEqual({
          status: 404,
          json: { detail: `${KINDS[named] ?? 'Deployment'} ID ${ids[named] ?? ''} not found.` },
        });
      const shown = JSON.stringify({ ...json, detail: undefined });
      // The requests of the other tenant are in their own audit log, with the ids that they sent.
      const hidden = name === 'listAudit' ? [ALICE] : [ALICE, ...Object.values(ids)];
      for (const id of hidden) expect(shown).not.toContain(id);
      const asAlice = { ...own, 'x-tenant-id': ALICE };
      expect((await platform.call(endpoint.method, `${path}?${query}`, body, asAlice)).status).toBe(403);
      expect(await stored(ALICE)).toBe(before);
      await platform.kysely.deleteFrom('listeners').where('tenant_id', '=', BOB).execute();
    },
  );

  it('have names of their own: two tenants may use the same name', async () => {
    const twin = await deploy(BOB, 'agent');
    expect(twin.deploymentId).not.toBe(deploymentId);
    const again = await as(ALICE, 'POST', '/v2/deployments', {
      ...CREATES.internal_source,
      name: 'agent',
    });
    expect(again.status).toBe(409);
  });

  it('do not include another tenant’s listener', async () => {
    const image = { source: 'external_image', source_revision_config: {}, secrets: [] };
    const named = { ...image, name: 'listened', source_config: { listener_id: listenerId } };
    expect((await as(BOB, 'POST', '/v2/deployments', named)).status).toBe(422);
    expect((await as(ALICE, 'POST', '/v2/deployments', named)).status).toBe(201);
    expect((await as(BOB, 'POST', '/v2/listeners', LISTENER)).status).toBe(201);
  });

  it('cannot be released from another tenant’s upload', async () => {
    const mine = await deploy(ALICE, 'mine');
    const theirs = await deploy(BOB, 'theirs');
    const { json: offer } = await as(BOB, 'POST', `/deployments/${theirs.deploymentId}/upload-url`);
    await platform.app.request(new URL(offer.upload_url).pathname, { method: 'PUT', body: 'tarball' });
    const { status } = await as(ALICE, 'PATCH', `/v2/deployments/${mine.deploymentId}`, {
      source_revision_config: { source_tarball_path: offer.object_path },
    });
    expect(status).toBe(422);
  });
});
