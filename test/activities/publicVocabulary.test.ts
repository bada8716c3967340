import { createHash, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { openArtifactStore } from '../../src/artifact/openArtifactStore.ts';
import { createControlPlaneClient } from '../../src/clients/controlPlane.ts';
import type { TarballArtifact } from '../../src/domain/artifact/artifact.ts';
import type { TargetSpec } from '../../src/domain/target/targetSpec.ts';
import { activitiesUnderTest, failureOf, SECRET, targetOn } from './activitiesUnderTest.ts';
import { type PublicService, startPublicService } from './publicService.ts';
import { useFolder } from '../support/temporaryFolder.ts';

const CONTENT = 'the bytes of an artifact';

let service: PublicService;
const folder = useFolder();
let artifact: TarballArtifact;

beforeAll(async () => {
  service = await startPublicService();
  vi.stubEnv('SLIPWAY_TEST_PLATFORM_KEY', 'test-key');
  await writeFile(join(folder, 'source.tar.gz'), CONTENT);
  const digest = `sha256:${createHash('sha256').update(CONTENT).digest('hex')}`;
  const store = openArtifactStore(join(folder, 'store'));
  await store.put(join(folder, 'source.tar.gz'), digest);
  artifact = { kind: 'tarball', digest, sizeBytes: CONTENT.length, store: store.url };
});

afterAll(() => service.close());

const publicTarget = (fields: Partial<TargetSpec> = {}): TargetSpec =>
  targetOn(service.url, {
    vocabulary: 'public',
    apiKey: { from: 'env:SLIPWAY_TEST_PLATFORM_KEY' },
    deployment: randomUUID(),
    ...fields,
  });

describe('a target of the public service', () => {
  it('sends every request and reads every response in the public names', async () => {
    const target = publicTarget({
      sourceConfig: { deployment_type: 'dev', install_command: 'npm ci' },
      secrets: [{ name: 'repo_host', from: 'env:SLIPWAY_TEST_SECRET' }],
    });
    const activities = activitiesUnderTest();
    expect(await activities.findDeployment({ target })).toMatchObject({ deployment: null });
    const graphConfigPath = 'langgraph.json';
    const { deployment } = await activities.createDeployment({ target, artifact, graphConfigPath });
    const { deploymentId } = deployment;
    expect(await activities.findDeployment({ target })).toMatchObject({ deployment: { deploymentId } });

    const { objectPath } = await activities.uploadArtifact({ target, deploymentId, artifact });
    const patch = { target, deploymentId, artifact, objectPath, graphConfigPath };
    const { deployment: patched } = await activities.patchDeployment(patch);
    expect(patched.latestTarballPath).toBe(objectPath);
    const revisionId = patched.latestRevisionId ?? '';
    const input = { target, deploymentId, revisionId };
    const awaited = { ...input, since: Date.now(), until: Date.now() + 60_000 };
    expect(await activities.awaitDeployed(awaited)).toMatchObject({ revision: { status: 'DEPLOYED' } });
    expect(await activities.readDeployment(input)).toMatchObject({
      deployment: { activeRevisionId: revisionId, agentUrl: `${service.url}/agents/${deploymentId}` },
    });
    const { revisions } = await activities.listRevisions(input);
    expect(revisions?.[0]).toMatchObject({ revisionId, tarballPath: objectPath });
    const { deployment: redeployed } = await activities.redeployRevision(input);
    expect(redeployed.deploymentId).toBe(deploymentId);

    expect(service.problems).toEqual([]);
    expect(service.platform.builds.at(-1)).toMatchObject({ graphConfigPath, installCommand: 'npm ci' });
    const { json } = await service.platform.call('GET', `/v2/deployments/${deploymentId}`);
    expect(json.secrets).toEqual([{ name: 'repo_host', value: SECRET }]);
  });

  it('of an image has its resources and its namespace in public names', async () => {
    // Another release, so what it creates has another key.
    const workflowExecution = { workflowId: 'another', runId: 'another' };
    const activities = activitiesUnderTest({ workflowExecution });
    const target = publicTarget({
      source: 'external_image',
      sourceConfig: { resource_spec: { cpu: 1, cache_cpu: 0.5, annotations: { cache_cpu: 'kept' } } },
    });
    const image = { kind: 'image', uri: 'registry.example/agent:1' } as const;
    const { deployment } = await activities.createDeployment({
      target,
      artifact: image,
      graphConfigPath: null,
    });
    expect(deployment.latestImageUri).toBe('registry.example/agent:1');
    const { deploymentId } = deployment;
    const patch = { target, deploymentId, artifact: image, objectPath: null, graphConfigPath: null };
    expect((await activities.patchDeployment(patch)).deployment.deploymentId).toBe(deploymentId);
    expect(service.problems).toEqual([]);
    const { json } = await service.platform.call('GET', `/v2/deployments/${deploymentId}`);
    expect(json).toMatchObject({
      source: 'external_docker',
      source_config: { resource_spec: { redis_cpu: 0.5, annotations: { cache_cpu: 'kept' } } },
    });
  });

  it('validates against the contract’s rules before it sends anything', async () => {
    const target = publicTarget({ sourceConfig: { deployment_type: 'dev' } });
    const before = service.requests.length;
    const attempt = activitiesUnderTest().createDeployment({ target, artifact, graphConfigPath: null });
    const failure = await failureOf(attempt);
    expect(failure).toMatchObject({ type: 'SLIPWAY_REFUSED', nonRetryable: true });
    expect(failure.message).toContain('source_revision_config.graph_config_path: Required');
    expect(service.requests.length).toBe(before);
  });

  it('returns results in the contract’s names', async () => {
    const client = createControlPlaneClient({
      baseUrl: service.url,
      apiKey: 'test-key',
      vocabulary: 'public',
    });
    const listener = await client.createListener({
      compute_type: 'cluster',
      compute_id: 'cluster',
      compute_config: { cluster_namespaces: ['agents'] },
    });
    expect(listener).toMatchObject({
      compute_type: 'cluster',
      compute_config: { cluster_namespaces: ['agents'] },
    });
    const deployment = await client.createDeployment({
      name: randomUUID(),
      source: 'external_image',
      source_config: {
        listener_id: listener.id,
        listener_config: { cluster_namespace: 'agents' },
      },
      source_revision_config: { image_uri: 'registry.example/agent:1' },
      secrets: [],
    });
    expect(deployment).toMatchObject({
      source: 'external_image',
      source_config: { listener_config: { cluster_namespace: 'agents' } },
    });
    for await (const revision of client.eachRevision(deployment.id)) {
      expect(revision.source).toBe('external_image');
      const { logs } = await client.getBuildLogs(deployment.id, revision.id, {});
      for (const line of logs) expect(line).toHaveProperty('message');
    }
    for await (const listener of client.eachListener()) expect(listener.compute_type).toBe('cluster');
    await client.deleteDeployment(deployment.id, {});
    await client.close();
    expect(service.problems).toEqual([]);
  });
});
