import { join } from 'node:path';

import { CREATES } from '../../../../packages/contract/test/controlPlane/requests.ts';
import { createLogger } from '../../../../packages/platform/src/http/logger.ts';
import { type Platform, startPlatform } from '../../../../packages/platform/src/platform.ts';
import { platformOptionsOf } from '../../../../packages/platform/src/platformOptions.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';

import {
  runIntegrationsAddCommand,
  runListenersAddCommand,
  runIntegrationsListCommand,
  runListenersListCommand,
  runIntegrationsRemoveCommand,
  runListenersRemoveCommand,
} from '../../../../src/cli/commands/platform/controlPlaneCommands.ts';
import { prepareHome } from '../../../support/preparedHome.ts';
import { useFolder } from '../../../support/temporaryFolder.ts';
import { testOutput } from '../../testOutput.ts';

const home = useFolder();
let platform: Platform;

beforeAll(async () => {
  await prepareHome(home);
  const limits = { maxBody: 2, maxUpload: 1, rateLimit: 400 };
  const options = platformOptionsOf({ home, port: 0, ...limits }, {});
  platform = await startPlatform({ ...options, log: createLogger({ level: 'silent' }) });
});

afterAll(() => platform.close());

it('Integrations are added, listed and removed on the running platform, with the key of its home', async () => {
  const output = testOutput({ json: true });
  const context = { output, home, environment: { SLIPWAY_PLATFORM_URL: platform.url } };
  await runIntegrationsAddCommand(context, 'acme', {
    prefix: 'https://github.com/acme',
    credential: 'env:GITHUB_TOKEN',
    webhookSecret: 'env:WEBHOOK_SECRET',
  });
  await runIntegrationsListCommand(context, {});
  const [added, listed] = output.events;
  expect(added).toMatchObject({
    event: 'integration',
    name: 'acme',
    url_prefix: 'https://github.com/acme',
    credential: 'env:GITHUB_TOKEN',
    webhook_url: `${platform.url}/v1/integrations/github/${String(added?.['id'])}/webhook`,
  });
  expect(listed).toEqual(added);
  await runIntegrationsRemoveCommand(context, 'acme', {});
  const text = testOutput();
  await runIntegrationsListCommand({ ...context, output: text }, { url: platform.url });
  expect(text.said).toEqual(['There are no integrations.']);
});

it('Listeners are added, listed newest first and removed by their compute id, for the named tenant', async () => {
  const output = testOutput({ json: true });
  const context = { output, home, environment: { SLIPWAY_PLATFORM_URL: platform.url } };
  const where = { tenant: crypto.randomUUID() };
  await runListenersAddCommand(context, 'this-machine', { ...where, type: 'docker' });
  // Uses the public names, because the platform is set to accept only those.
  const cluster = { type: 'cluster', namespace: ['agents', 'more'], listenerVersion: '1.2' } as const;
  await runListenersAddCommand(context, 'production', { ...where, ...cluster, vocabulary: 'public' });
  await runListenersListCommand(context, where);
  const [docker, production, ...listed] = output.events;
  expect(docker).toMatchObject({ event: 'listener', compute_type: 'docker', compute_id: 'this-machine' });
  expect(production).toMatchObject({
    event: 'listener',
    compute_id: 'production',
    compute_type: 'cluster',
    compute_config: { cluster_namespaces: ['agents', 'more'] },
    version: '1.2',
  });
  // Each is listed under the names that it was created with.
  expect(listed).toMatchObject([
    { id: production?.['id'], compute_type: 'k8s' },
    { id: docker?.['id'], compute_type: 'docker' },
  ]);

  await runListenersRemoveCommand(context, 'production', where);
  expect(output.events.at(-1)).toEqual({
    event: 'removed',
    id: production?.['id'],
    compute_id: 'production',
  });
  const text = testOutput();
  await runListenersListCommand({ ...context, output: text }, where);
  expect(text.said).toEqual(['this-machine  docker', `  listener_id  ${String(docker?.['id'])}`]);
  const elsewhere = testOutput();
  await runListenersListCommand({ ...context, output: elsewhere }, { tenant: crypto.randomUUID() });
  expect(elsewhere.said).toEqual(['There are no listeners.']);
});

it('Errors name a missing integration, listener or key', async () => {
  const context = { output: testOutput(), home, environment: {} };
  await expect(runIntegrationsRemoveCommand(context, 'nobody', { url: platform.url })).rejects.toMatchObject({
    code: 'SLIPWAY_USAGE',
  });
  await expect(runListenersRemoveCommand(context, 'nobody', { url: platform.url })).rejects.toMatchObject({
    code: 'SLIPWAY_USAGE',
    message: expect.stringContaining('there is no listener "nobody"') as string,
  });
  await expect(
    runIntegrationsListCommand({ ...context, home: join(home, 'elsewhere') }, { url: platform.url }),
  ).rejects.toMatchObject({ code: 'SLIPWAY_SECRET_MISSING' });
});

it('Bodies and uploads have the limits that the command line sets', async () => {
  const send = async (method: string, path: string, body: string): Promise<Response> =>
    fetch(new URL(path, platform.url), { method, headers: { 'x-api-key': platform.apiKey }, body });
  const [large, tooLarge] = [1.5, 2.5].map((megabytes) => ' '.repeat(megabytes * 1_048_576));
  expect((await send('POST', '/v2/deployments', large!)).status).toBe(422);
  expect((await send('POST', '/v2/deployments', tooLarge!)).status).toBe(413);

  const made = await send('POST', '/v2/deployments', JSON.stringify(CREATES.internal_source));
  const { id } = (await made.json()) as { id: string };
  const offer = async (body: object): Promise<Response> =>
    send('POST', `/deployments/${id}/upload-url`, JSON.stringify(body));
  const { upload_url: url } = (await (await offer({})).json()) as { upload_url: string };
  expect((await send('PUT', url, large!)).status).toBe(413);
  expect((await offer({ content_length: 1_048_577 })).status).toBe(413);
});
