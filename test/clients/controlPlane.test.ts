import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';
import { CONTROL_PLANE_ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';

import type { ControlPlaneClient } from '../../src/clients/controlPlane.ts';
import { client, ID, KEY, REVISION } from './controlPlaneUnderTest.ts';
import { answers, json, type SeenRequest, startService } from './faultyService.ts';
import { CREATES } from '../../packages/contract/test/controlPlane/requests.ts';

const DEPLOYMENT = {
  id: ID,
  tenant_id: ID,
  name: 'agent',
  source: 'internal_source',
  source_config: { custom_url: 'http://agent.example', unheard_of: 1 },
  source_revision_config: { graph_config_path: 'graph.json' },
  secrets: [],
  created_at: '2026-11-21T10:00:00Z',
  updated_at: '2026-11-21T10:00:00+00:00',
  status: 'A_STATUS_OF_TOMORROW',
  latest_revision_id: REVISION,
  active_revision_id: null,
  another_field: true,
};
const REVISION_BODY = { id: REVISION, status: 'DEPLOYED' };
const UPLOAD = { upload_url: 'http://store.example/put?sig=1', object_path: 'uploads/1.tar.gz' };
const LIST = { resources: [], offset: 0 };
const INTEGRATION_BODY = { name: 'acme', url_prefix: 'https://github.com/acme' };
const LISTENER_BODY = { compute_type: 'cluster', compute_id: 'one', compute_config: {} } as const;
const LISTENER = { ...LISTENER_BODY, id: ID };

type Name = keyof typeof CONTROL_PLANE_ENDPOINTS;
const CALLS: [
  Name,
  (plane: ControlPlaneClient) => Promise<unknown>,
  { url: string; body?: unknown; answer: unknown },
][] = [
  [
    'createDeployment',
    (plane) => plane.createDeployment(CREATES.internal_source),
    { url: '/v2/deployments', body: CREATES.internal_source, answer: DEPLOYMENT },
  ],
  ['getDeployment', (plane) => plane.getDeployment(ID), { url: `/v2/deployments/${ID}`, answer: DEPLOYMENT }],
  [
    'patchDeployment',
    (plane) =>
      plane.patchDeployment(ID, { source_revision_config: { source_tarball_path: 'uploads/1.tar.gz' } }),
    {
      url: `/v2/deployments/${ID}`,
      body: { source_revision_config: { source_tarball_path: 'uploads/1.tar.gz' } },
      answer: DEPLOYMENT,
    },
  ],
  [
    'deleteDeployment',
    (plane) => plane.deleteDeployment(ID, { delete_tracing_project: true }),
    { url: `/v2/deployments/${ID}?delete_tracing_project=true`, answer: undefined },
  ],
  [
    'listDeployments',
    (plane) => plane.listDeployments({ name_contains: 'a b', limit: 5, deployment_ids: [ID, REVISION] }),
    { url: `/v2/deployments?name_contains=a+b&limit=5&deployment_ids=${ID}%2C${REVISION}`, answer: LIST },
  ],
  [
    'getRevision',
    (plane) => plane.getRevision(ID, REVISION),
    { url: `/v2/deployments/${ID}/revisions/${REVISION}`, answer: REVISION_BODY },
  ],
  [
    'listRevisions',
    (plane) => plane.listRevisions(ID, { limit: 5 }),
    { url: `/v2/deployments/${ID}/revisions?limit=5`, answer: LIST },
  ],
  [
    'redeployRevision',
    (plane) => plane.redeployRevision(ID, REVISION),
    { url: `/v2/deployments/${ID}/revisions/${REVISION}/redeploy`, answer: DEPLOYMENT },
  ],
  [
    'listIntegrations',
    (plane) => plane.listIntegrations(),
    { url: '/v1/integrations/github/install', answer: [{ id: ID }] },
  ],
  [
    'createIntegration',
    (plane) => plane.createIntegration(INTEGRATION_BODY),
    { url: '/v1/integrations/github/install', body: INTEGRATION_BODY, answer: { id: ID } },
  ],
  [
    'deleteIntegration',
    (plane) => plane.deleteIntegration(ID),
    { url: `/v1/integrations/github/install/${ID}`, answer: undefined },
  ],
  [
    'createListener',
    (plane) => plane.createListener(LISTENER_BODY),
    { url: '/v2/listeners', body: LISTENER_BODY, answer: LISTENER },
  ],
  ['deleteListener', (plane) => plane.deleteListener(ID), { url: `/v2/listeners/${ID}`, answer: undefined }],
  [
    'createUploadUrl',
    (plane) => plane.createUploadUrl(ID),
    { url: `/deployments/${ID}/upload-url`, answer: UPLOAD },
  ],
  [
    'getRevisionLogs',
    (plane) => plane.getRevisionLogs(ID, REVISION, { stage: 'build', limit: 3 }),
    {
      url: `/v2/deployments/${ID}/revisions/${REVISION}/logs?stage=build&limit=3`,
      answer: {
        logs: [{ id: '7', stage: 'build', message: 'hello', timestamp: '2026-11-21T10:00:00Z' }],
        next_offset: null,
      },
    },
  ],
  [
    'getBuildLogs',
    (plane) => plane.getBuildLogs(ID, REVISION, { order: 'desc', limit: 3 }),
    {
      url: `/v1/projects/${ID}/revisions/${REVISION}/build_logs`,
      body: { order: 'desc', limit: 3 },
      answer: { logs: [{ message: 'hello' }], next_offset: null },
    },
  ],
  [
    'getDeployLogs',
    (plane) => plane.getDeployLogs(ID, REVISION, { limit: 3 }),
    {
      url: `/v1/projects/${ID}/revisions/${REVISION}/deploy_logs`,
      body: { limit: 3 },
      answer: { logs: [{ message: 'hello' }], next_offset: null },
    },
  ],
];

describe('The control plane client', () => {
  it.each(CALLS)('calls %s as in the contract, once, with the key', async (name, call, expected) => {
    const service = await startService((_, response) => {
      if (expected.answer === undefined) response.writeHead(204).end();
      else json(response, CONTROL_PLANE_ENDPOINTS[name].success, expected.answer);
    });
    expect(await call(client(service.url))).toEqual(expected.answer);
    expect(service.requests).toHaveLength(1);
    const [request] = service.requests;
    expect(request).toMatchObject({ method: CONTROL_PLANE_ENDPOINTS[name].method, url: expected.url });
    expect(request?.headers['x-api-key']).toBe(KEY);
    expect(request?.body).toBe(expected.body === undefined ? '' : JSON.stringify(expected.body));
  });

  it('keeps the path of its base URL', async () => {
    const service = await startService(answers(200, DEPLOYMENT));
    await client(`${service.url}/host/api///`, { apiKey: undefined }).getDeployment(ID);
    expect(service.requests[0]?.url).toBe(`/host/api/v2/deployments/${ID}`);
    expect(service.requests[0]?.headers).not.toHaveProperty('x-api-key');
  });

  it('sends additional headers for services that require other credentials', async () => {
    const service = await startService(answers(200, DEPLOYMENT));
    await client(service.url, { headers: { 'X-Tenant-Id': 'tenant' } }).getDeployment(ID);
    expect(service.requests[0]?.headers['x-tenant-id']).toBe('tenant');
  });
});

describe('A list', () => {
  const deployments = Array.from({ length: 230 }, (_, index) => ({
    ...DEPLOYMENT,
    id: randomUUID(),
    name: `agent-${index}`,
  }));
  const page = (request: SeenRequest): { from: number; count: number } => {
    const query = new URL(request.url, 'http://x').searchParams;
    return { from: Number(query.get('offset')), count: Number(query.get('limit')) };
  };

  const some = (from: number, count: number) => deployments.slice(from, from + count);

  it.each([
    ['its offset is where the next page begins', some, (from: number, found: number) => from + found],
    ['its offset repeats the one that was asked for', some, (from: number) => from],
    ['its pages are shorter than asked for', (from: number) => some(from, 80), (from: number) => from],
    ['it is always returned whole', () => deployments, () => 0],
  ])('is read to its end if %s', async (_how, pageOf, offset) => {
    const service = await startService((request, response) => {
      const { from, count } = page(request);
      const resources = pageOf(from, count);
      json(response, 200, { resources, offset: offset(from, resources.length) });
    });
    const names: string[] = [];
    for await (const { name } of client(service.url).eachDeployment({ name_contains: 'agent' }))
      names.push(name);
    expect(names).toEqual(deployments.map(({ name }) => name));
    expect(service.requests.every(({ url }) => url.includes('name_contains=agent'))).toBe(true);
  });

  it('of revisions is read no further than it is consumed', async () => {
    const service = await startService((_, response) =>
      json(response, 200, { resources: Array.from({ length: 100 }, () => REVISION_BODY), offset: 100 }),
    );
    for await (const revision of client(service.url).eachRevision(ID)) {
      expect(revision.status).toBe('DEPLOYED');
      break;
    }
    expect(service.requests).toHaveLength(1);
  });
});

describe('The upload URL', () => {
  it('is requested at the versioned path if the service does not have the contract’s, and only there from then on', async () => {
    const service = await startService(({ url }, response) =>
      url.startsWith('/v2/') ? json(response, 200, UPLOAD) : json(response, 404, { detail: 'Not Found' }),
    );
    const plane = client(service.url);
    expect(await plane.createUploadUrl(ID)).toEqual(UPLOAD);
    expect(await plane.createUploadUrl(ID)).toEqual(UPLOAD);
    expect(service.requests.map(({ url }) => url)).toEqual([
      `/deployments/${ID}/upload-url`,
      `/v2/deployments/${ID}/upload-url`,
      `/v2/deployments/${ID}/upload-url`,
    ]);
  });

  it('is not requested again if the deployment itself is not found', async () => {
    const service = await startService(answers(404, { detail: `Deployment ID ${ID} not found.` }));
    await expect(client(service.url).createUploadUrl(ID)).rejects.toMatchObject({
      code: 'SLIPWAY_NOT_FOUND',
      path: `/deployments/${ID}/upload-url`,
    });
    expect(service.requests).toHaveLength(1);
  });

  it.each([401, 500])('is not requested again after a %i', async (status) => {
    const service = await startService(answers(status, { detail: 'No.' }));
    await expect(client(service.url).createUploadUrl(ID)).rejects.toMatchObject({ status });
    expect(service.requests).toHaveLength(1);
  });
});
