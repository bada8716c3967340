import { createHash, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, describe, expect, it } from 'vitest';

import { openArtifactStore } from '../../../src/artifact/openArtifactStore.ts';
import type { TarballArtifact } from '../../../src/domain/artifact/artifact.ts';
import { answers, json, startService } from '../../clients/faultyService.ts';
import { useAwsEnvironment } from '../../support/s3/awsEnvironment.ts';
import { S3_CREDENTIALS, startS3Server } from '../../support/s3/s3Server.ts';
import { useFolder } from '../../support/temporaryFolder.ts';
import {
  activitiesUnderTest,
  DEPLOYMENT_ID,
  DEPLOYMENT_PATH,
  deploymentAnswer,
  failureOf,
  REVISION_ID,
  REVISION_PATH,
  revisionAnswer,
  revisionOn,
  SECRET,
  startRoutes,
  targetOn,
} from '../activitiesUnderTest.ts';

const folder = useFolder();
const STORE = openArtifactStore(join(folder, 'store'));
const CONTENT = 'the bytes of an artifact';
const TARBALL: TarballArtifact = {
  kind: 'tarball',
  digest: `sha256:${createHash('sha256').update(CONTENT).digest('hex')}`,
  sizeBytes: CONTENT.length,
  store: STORE.url,
};

beforeAll(async () => {
  const file = join(folder, 'source.tar.gz');
  await writeFile(file, CONTENT);
  await STORE.put(file, TARBALL.digest);
});

const SECRETS = [{ name: 'MODEL_KEY', from: 'env:SLIPWAY_TEST_SECRET' }];
const SNAPSHOT = {
  deploymentId: DEPLOYMENT_ID,
  activeRevisionId: REVISION_ID,
  latestRevisionId: REVISION_ID,
  latestTarballPath: 'uploads/1.tar.gz',
  latestImageUri: null,
  latestRepoRef: null,
  agentUrl: 'http://agent.example',
};

/** A control plane that lists these names in pages. */
function planeThatLists(names: readonly string[]) {
  return startService(({ url }, response) => {
    const query = new URL(url, 'http://plane').searchParams;
    const offset = Number(query.get('offset'));
    const end = offset + Number(query.get('limit'));
    const found = names.filter((name) => name.includes(query.get('name_contains') ?? ''));
    const resources = found
      .slice(offset, end)
      .map((name) => deploymentAnswer({ name, id: name === 'greeter' ? DEPLOYMENT_ID : randomUUID() }));
    json(response, 200, { resources, offset: end });
  });
}

function bodiesOf(requests: readonly { readonly body: string }[]): unknown[] {
  return requests.map(({ body }) => JSON.parse(body) as unknown);
}

describe('findDeployment', () => {
  it('reads a deployment with a known id', async () => {
    const plane = await startRoutes({ [`GET ${DEPLOYMENT_PATH}`]: answers(200, deploymentAnswer()) });
    const target = targetOn(plane.url, { deploymentId: DEPLOYMENT_ID });
    expect(await activitiesUnderTest().findDeployment({ target })).toEqual({
      deployment: SNAPSHOT,
      attempt: 1,
    });
    expect(plane.requests).toHaveLength(1);
  });

  it('finds the one with exactly that name among similar names, over several pages', async () => {
    const near = Array.from({ length: 230 }, (_, index) => `greeter-${index}`);
    const plane = await planeThatLists([...near, 'greeter']);
    const found = await activitiesUnderTest().findDeployment({ target: targetOn(plane.url) });
    expect(found.deployment?.deploymentId).toBe(DEPLOYMENT_ID);
    expect(plane.requests).toHaveLength(3);
    expect(plane.requests[0]?.url).toContain('name_contains=greeter');
  });

  it.each([
    ['the oldest', 'READY'],
    ['a newer one only while the oldest is being deleted', 'AWAITING_DELETE'],
  ])('finds of several with that name %s', async (_, status) => {
    const [newest, newer, oldest] = [randomUUID(), randomUUID(), randomUUID()];
    const resources = [
      deploymentAnswer({ id: newest, created_at: '2026-11-21T12:00:00+01:00' }),
      deploymentAnswer({ id: newer, created_at: '2026-11-21T10:30:00Z' }),
      deploymentAnswer({ id: oldest, created_at: '2026-11-21T10:00:00Z', status }),
    ];
    const plane = await startService(answers(200, { resources, offset: 3 }));
    const found = await activitiesUnderTest().findDeployment({ target: targetOn(plane.url) });
    expect(found.deployment?.deploymentId).toBe(status === 'READY' ? oldest : newer);
    expect(plane.requests).toHaveLength(1);
  });

  it('returns null if all names are only similar', async () => {
    const plane = await planeThatLists(['greeter-2', 'the-greeter']);
    expect(await activitiesUnderTest().findDeployment({ target: targetOn(plane.url) })).toMatchObject({
      deployment: null,
    });
  });

  it.each([404, 405, 501])('gives advice if a control plane answers %i to a list', async (status) => {
    const plane = await startService(answers(status, { detail: 'Not here' }));
    const failure = await failureOf(activitiesUnderTest().findDeployment({ target: targetOn(plane.url) }));
    expect(failure).toMatchObject({ type: 'SLIPWAY_NOT_FOUND', nonRetryable: true });
    expect(failure.message).toContain('set targets.production.deploymentId');
  });

  it.each([
    [301, undefined],
    [308, undefined],
    [301, DEPLOYMENT_ID],
    [308, DEPLOYMENT_ID],
  ])(
    'does not wait for a control plane that has moved (%i, deploymentId: %s)',
    async (status, deploymentId) => {
      const plane = await startService(answers(status, '', { location: 'https://moved.example/' }));
      const target = targetOn(plane.url, { deploymentId });
      const failure = await failureOf(activitiesUnderTest().findDeployment({ target }));
      expect(failure).toMatchObject({ type: 'SLIPWAY_CONFIG_INVALID', nonRetryable: true });
      expect(failure.message).toContain('set targets.production.controlPlane');
    },
  );

  it.each([302, 303, 307])('waits for a control plane that redirects for now (%i)', async (status) => {
    const plane = await startService(answers(status, '', { location: 'https://maintenance.example/' }));
    const failure = await failureOf(activitiesUnderTest().findDeployment({ target: targetOn(plane.url) }));
    expect(failure).toMatchObject({ type: 'SLIPWAY_BAD_ANSWER', nonRetryable: false });
  });
});

describe('createDeployment', () => {
  it('sends name, source, configuration, artifact, and the secrets’ values', async () => {
    const plane = await startRoutes({ 'POST /v2/deployments': answers(201, deploymentAnswer()) });
    const sourceConfig = { deployment_type: 'dev', repo_url: 'https://git.example/greeter' };
    const target = targetOn(plane.url, { source: 'repo_host', sourceConfig, secrets: SECRETS });
    const input = { target, artifact: { kind: 'git', ref: 'main' }, graphConfigPath: 'graph.json' } as const;
    expect(await activitiesUnderTest().createDeployment(input)).toEqual({ deployment: SNAPSHOT, attempt: 1 });
    expect(bodiesOf(plane.requests)).toEqual([
      {
        name: 'greeter',
        source: 'repo_host',
        source_config: sourceConfig,
        source_revision_config: { graph_config_path: 'graph.json', repo_ref: 'main' },
        secrets: [{ name: 'MODEL_KEY', value: SECRET }],
      },
    ]);
  });

  it('sends no secrets if the target has none, and no path of a tarball before its upload', async () => {
    const plane = await startRoutes({ 'POST /v2/deployments': answers(201, deploymentAnswer()) });
    const input = { target: targetOn(plane.url), artifact: TARBALL, graphConfigPath: 'graph.json' };
    await activitiesUnderTest().createDeployment(input);
    expect(bodiesOf(plane.requests)).toMatchObject([
      { secrets: [], source_revision_config: { graph_config_path: 'graph.json' } },
    ]);
    expect(plane.requests[0]?.body).not.toContain('source_tarball_path');
  });

  it('is not sent for an artifact that the worker does not find in a folder', async () => {
    const plane = await startRoutes({});
    const artifact = { ...TARBALL, store: openArtifactStore(join(folder, 'home-of-another')).url };
    const input = { target: targetOn(plane.url), artifact, graphConfigPath: 'graph.json' };
    const failure = await failureOf(activitiesUnderTest().createDeployment(input));
    expect(failure).toMatchObject({ type: 'SLIPWAY_ARTIFACT_NOT_FOUND', nonRetryable: true });
    expect(failure.message).toContain('must use the same store');
    expect(plane.requests).toEqual([]);
  });

  it('is not sent for an artifact that the worker does not find in S3, or whose bucket it cannot reach', async () => {
    const server = await startS3Server();
    const putBack = useAwsEnvironment(S3_CREDENTIALS);
    try {
      const plane = await startRoutes({});
      const create = (store: string): Promise<unknown> => {
        const artifact = { ...TARBALL, store };
        const input = { target: targetOn(plane.url), artifact, graphConfigPath: 'graph.json' };
        return failureOf(activitiesUnderTest().createDeployment(input));
      };
      const empty = server.storeUrl('empty');
      expect(await create(empty)).toMatchObject({ type: 'SLIPWAY_ARTIFACT_NOT_FOUND', nonRetryable: true });
      expect(await create(empty.replace(server.bucket, 'nobodys'))).toMatchObject({
        type: 'SLIPWAY_ARTIFACT_STORE_REFUSED',
        nonRetryable: true,
      });
      expect(await create('s3://x?endpoint=http%3A%2F%2F127.0.0.1%3A1')).toMatchObject({
        type: 'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
        nonRetryable: false,
      });
      expect(plane.requests).toEqual([]);
    } finally {
      putBack();
      await server.close();
    }
  });
});

describe('the Idempotency-Key of createDeployment', () => {
  const keysOf = async (releases: readonly { workflowId: string; runId: string }[]): Promise<unknown[]> => {
    const plane = await startRoutes({ 'POST /v2/deployments': answers(201, deploymentAnswer()) });
    const input = { target: targetOn(plane.url), artifact: TARBALL, graphConfigPath: 'graph.json' };
    for (const workflowExecution of releases)
      await activitiesUnderTest({ workflowExecution }).createDeployment(input);
    return plane.requests.map(({ headers }) => headers['idempotency-key']);
  };

  it('is the same for every attempt of one release, and differs between releases', async () => {
    const release = { workflowId: 'release/é', runId: 'r1' };
    const [first, again, other] = await keysOf([release, release, { ...release, runId: 'r2' }]);
    expect(first).toMatch(/^"[0-9a-f]{64}"$/);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });
});

describe('patchDeployment', () => {
  it.each([
    { artifact: TARBALL, objectPath: 'uploads/2.tar.gz', sent: { source_tarball_path: 'uploads/2.tar.gz' } },
    {
      artifact: { kind: 'image', uri: 'img.example/a:1' } as const,
      objectPath: null,
      sent: { image_uri: 'img.example/a:1' },
    },
    {
      artifact: { kind: 'git', ref: 'refs/tags/v1' } as const,
      objectPath: null,
      sent: { repo_ref: 'refs/tags/v1' },
    },
  ])(
    'sends a $artifact.kind as its own field, and no secrets if none are given',
    async ({ artifact, objectPath, sent }) => {
      const plane = await startRoutes({ [`PATCH ${DEPLOYMENT_PATH}`]: answers(200, deploymentAnswer()) });
      const { target, deploymentId } = revisionOn(plane.url);
      const input = { target, deploymentId, artifact, objectPath, graphConfigPath: null };
      expect(await activitiesUnderTest().patchDeployment(input)).toEqual({
        deployment: SNAPSHOT,
        attempt: 1,
      });
      expect(bodiesOf(plane.requests)).toEqual([{ source_config: {}, source_revision_config: sent }]);
    },
  );

  it('omits immutable fields, and resolves the secrets', async () => {
    const plane = await startRoutes({ [`PATCH ${DEPLOYMENT_PATH}`]: answers(200, deploymentAnswer()) });
    const sourceConfig = {
      integration_id: DEPLOYMENT_ID,
      repo_url: 'https://git.example/greeter',
      deployment_type: 'dev',
      listener_id: DEPLOYMENT_ID,
      build_on_push: false,
      resource_spec: { cpu: 1 },
    };
    const { target, deploymentId } = revisionOn(plane.url, { sourceConfig, secrets: SECRETS });
    const input = {
      target,
      deploymentId,
      artifact: TARBALL,
      objectPath: 'u/3',
      graphConfigPath: 'b/graph.json',
    };
    await activitiesUnderTest().patchDeployment(input);
    expect(bodiesOf(plane.requests)).toEqual([
      {
        source_config: { build_on_push: false, resource_spec: { cpu: 1 } },
        source_revision_config: { graph_config_path: 'b/graph.json', source_tarball_path: 'u/3' },
        secrets: [{ name: 'MODEL_KEY', value: SECRET }],
      },
    ]);
  });

  it('removes secrets that a control plane repeats in its error', async () => {
    const plane = await startService(({ body, headers }, response) =>
      json(response, 422, { detail: `${body} ${String(headers['x-api-key'])}` }),
    );
    const { target, deploymentId } = revisionOn(plane.url, { secrets: SECRETS });
    const input = { target, deploymentId, artifact: TARBALL, objectPath: 'u/3', graphConfigPath: null };
    const failure = await failureOf(activitiesUnderTest().patchDeployment(input));
    expect(failure).toMatchObject({ type: 'SLIPWAY_REFUSED', nonRetryable: true });
    expect(failure.message).toContain('MODEL_KEY');
  });

  it('sends nothing if a secret is missing', async () => {
    const plane = await startRoutes({});
    const secrets = [{ name: 'MODEL_KEY', from: 'env:SLIPWAY_TEST_ABSENT' }];
    const { target, deploymentId } = revisionOn(plane.url, { secrets });
    const input = { target, deploymentId, artifact: TARBALL, objectPath: 'u/3', graphConfigPath: null };
    const failure = await failureOf(activitiesUnderTest().patchDeployment(input));
    expect(failure).toMatchObject({ type: 'SLIPWAY_SECRET_MISSING', nonRetryable: true });
    expect(plane.requests).toEqual([]);
  });
});

describe('a revision', () => {
  it.each([
    ['a revision is final', {}, true],
    ['a new revision is a read that lags', { isNew: true }, false],
  ] as const)('a 404 for %s', async (_, how, nonRetryable) => {
    const plane = await startRoutes({});
    const read = activitiesUnderTest().readRevision({ ...revisionOn(plane.url), ...how });
    expect(await failureOf(read)).toMatchObject({ type: 'SLIPWAY_NOT_FOUND', nonRetryable });
  });

  it('is read with its status, its tarball and its error', async () => {
    const plane = await startRoutes({
      [`GET ${REVISION_PATH}`]: answers(200, {
        ...revisionAnswer('BUILD_FAILED'),
        status_message: 'the build failed',
      }),
    });
    expect((await activitiesUnderTest().readRevision(revisionOn(plane.url))).revision).toEqual({
      revisionId: REVISION_ID,
      status: 'BUILD_FAILED',
      tarballPath: 'uploads/1.tar.gz',
      imageUri: null,
      repoRef: null,
      reason: 'the build failed',
    });
  });

  it('is redeployed with one request', async () => {
    const plane = await startRoutes({ [`POST ${REVISION_PATH}/redeploy`]: answers(200, deploymentAnswer()) });
    const { deployment } = await activitiesUnderTest().redeployRevision(revisionOn(plane.url));
    expect(deployment).toEqual(SNAPSHOT);
    expect(plane.requests).toHaveLength(1);
  });
});

describe('deleting a deployment', () => {
  const answered = async (status: number, detail: string) => {
    const service = await startRoutes({ [`DELETE ${DEPLOYMENT_PATH}`]: answers(status, { detail }) });
    return { service, deleted: activitiesUnderTest().deleteDeployment(revisionOn(service.url)) };
  };

  it('also deletes the tracing project, whose name a new deployment would need', async () => {
    const { service, deleted } = await answered(204, '');
    expect(await deleted).toMatchObject({ offered: true });
    expect(service.requests.map(({ url }) => url)).toEqual([
      `${DEPLOYMENT_PATH}?delete_tracing_project=true`,
    ]);
  });

  it.each([
    [404, `Deployment ID ${DEPLOYMENT_ID} not found`, true],
    [404, 'Not Found', false],
    [405, 'Method Not Allowed', false],
    [501, 'Not Implemented', false],
  ])('answered with %i "%s" is offered: %s', async (status, detail, offered) => {
    expect(await (await answered(status, detail)).deleted).toMatchObject({ offered });
  });

  it('that fails for another reason does not count as done', async () => {
    expect(await failureOf((await answered(500, 'broken')).deleted)).toMatchObject({
      type: 'SLIPWAY_SERVICE_ERROR',
    });
  });
});
