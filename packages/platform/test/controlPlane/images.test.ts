import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { type Containers, createContainers } from '../../src/runtime/docker/containers.ts';
import { EngineStandIn } from '../runtime/docker/engineStandIn.ts';
import { TestPlatform } from './testPlatform.ts';

const IMAGE = 'registry.example/agent:1';

let engine: EngineStandIn;
let platform: TestPlatform;

let generation = 0;

/** The options of a platform with an engine. An earlier platform starts nothing any more, as after `kill -9`. */
function options(): { containers: Containers } {
  const mine = ++generation;
  const containers = createContainers({ command: engine.command, platform: 'images' });
  const never = new Promise<never>(() => undefined);
  return {
    containers: { ...containers, start: (run) => (generation === mine ? containers.start(run) : never) },
  };
}

beforeAll(async () => {
  engine = await EngineStandIn.open();
  await engine.registry({
    [IMAGE]: 'agent',
    'registry.example/agent:2': 'agent',
    'registry.example/bad:1': 'broken',
  });
  platform = await TestPlatform.open(options());
});

afterAll(async () => {
  await platform.close();
  await engine.close();
});

async function deployImage(
  name: string,
  uri: string,
  more: Record<string, unknown> = {},
): Promise<[string, string]> {
  const id = await platform.create(name, {
    source: 'external_image',
    source_revision_config: { image_uri: uri },
    secrets: [{ name: 'TOKEN', value: 'a secret token' }],
    ...more,
  });
  return [id, (await platform.deployment(id)).latest_revision_id];
}

async function logOf(id: string, revision: string): Promise<string[]> {
  const { json } = await platform.call('POST', `/v1/projects/${id}/revisions/${revision}/deploy_logs`, {});
  return json.logs.map(({ message }) => message);
}

async function reasonOf(id: string, revision: string): Promise<string | null> {
  return (await platform.revision(id, revision)).status_message;
}

async function containersOf(id: string): Promise<string[]> {
  return (await engine.containers())
    .filter(({ deploymentId }) => deploymentId === id)
    .map(({ revisionId }) => revisionId!);
}

/** Settings of a deployment that this platform does not apply, and the line that reports it. */
const UNAPPLIED = {
  source_config: {
    install_command: 'npm ci',
    resource_spec: {
      cpu: 1,
      min_scale: 2,
      labels: { team: 'agents' },
      annotations: {},
      volumes: [{ name: 'data' }],
      service_account_name: 'runner',
    },
  },
  secret_references: [{ name: 'A', secret_name: 'b', secret_key: 'c' }],
};
const UNAPPLIED_LINE =
  'Set, and not applied by this platform: resource_spec.min_scale, resource_spec.service_account_name, resource_spec.volumes, install_command, secret_references.';

it('an image is deployed with a log of ignored settings, replaced, restored, and removed with its deployment', async () => {
  const [id, first] = await deployImage('an image', IMAGE, UNAPPLIED);
  await platform.reaches(id, first, 'DEPLOYED');
  expect(platform.serving.get(id)).toBe(first);
  const told = [`Pulling the image ${IMAGE}.`, 'serving as agent, told PORT 8000, token ***', UNAPPLIED_LINE];
  await vi.waitFor(async () => {
    expect(await logOf(id, first)).toEqual(expect.arrayContaining(told));
  }, 15_000);

  const { json } = await platform.patch(id, {
    source_revision_config: { image_uri: 'registry.example/agent:2' },
  });
  const second = json.latest_revision_id;
  await platform.reaches(id, second, 'DEPLOYED');
  await vi.waitFor(async () => expect(await containersOf(id)).toEqual([second]), 15_000);

  expect((await platform.redeploy(id, first)).status).toBe(200);
  await vi.waitFor(async () => expect(await containersOf(id)).toEqual([first]), 15_000);
  expect(platform.serving.get(id)).toBe(first);

  await platform.call('DELETE', `/v2/deployments/${id}`);
  await platform.gone(id);
  expect(await containersOf(id)).toEqual([]);
  expect((await engine.images()).filter((name) => name.includes(id))).toEqual([]);
});

it('an image that does not start fails its revision, and the earlier one keeps serving', async () => {
  const [id, good] = await deployImage('goes on', IMAGE);
  await platform.reaches(id, good, 'DEPLOYED');
  const { json } = await platform.patch(id, {
    source_revision_config: { image_uri: 'registry.example/bad:1' },
  });
  await platform.reaches(id, json.latest_revision_id, 'DEPLOY_FAILED');
  expect(await reasonOf(id, json.latest_revision_id)).toContain('cannot find its model');
  expect(platform.serving.get(id)).toBe(good);
  expect(await containersOf(id)).toEqual([good]);
});

it('a deployment for remote compute is not run here', async () => {
  const listener_id = await platform.register('/v2/listeners', {
    compute_type: 'cluster',
    compute_id: 'the cluster',
    compute_config: {},
  });
  const [id, revision] = await deployImage('elsewhere', IMAGE, { source_config: { listener_id } });
  await platform.reaches(id, revision, 'DEPLOY_FAILED');
  expect(await reasonOf(id, revision)).toContain(
    "The deployment is for the listener of cluster 'the cluster'",
  );
  expect(await containersOf(id)).toEqual([]);
});

it('a revision fails with advice if the engine does not answer, is deployed when it does, and survives a kill', async () => {
  await engine.answers(false);
  const [id, revision] = await deployImage('no engine', IMAGE);
  await platform.reaches(id, revision, 'DEPLOY_FAILED');
  expect(await reasonOf(id, revision)).toMatch(
    /^The container engine of this machine does not answer .* Start it/,
  );
  await engine.answers(true);
  expect((await platform.redeploy(id, revision)).status).toBe(200);
  await platform.reaches(id, revision, 'DEPLOYED');

  // After a restart, a killed platform serves the same again, in one new container.
  const [before] = (await engine.containers()).filter(({ deploymentId }) => deploymentId === id);
  platform.serving.clear();
  await platform.start(options());
  await vi.waitFor(() => expect(platform.serving.get(id)).toBe(revision), 15_000);
  const after = (await engine.containers()).filter(({ deploymentId }) => deploymentId === id);
  expect(after).toHaveLength(1);
  expect(after[0]?.name).not.toBe(before?.name);
});
