import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';

import {
  runAddIntegration,
  runListIntegrations,
  runRemoveIntegration,
} from '../../../src/cli/platform/integrations.ts';
import { createLogger } from '../../../src/platform/http/logger.ts';
import { type Platform, startPlatform } from '../../../src/platform/platform.ts';
import { testOutput } from '../testOutput.ts';
import { preparedHome } from '../../platform/preparedHome.ts';

let home: string;
let platform: Platform;

beforeAll(async () => {
  home = await preparedHome('slipway-integrations-');
  platform = await startPlatform({ home, port: 0, log: createLogger({ level: 'silent' }) });
});

afterAll(async () => {
  await platform.close();
  await rm(home, { recursive: true, force: true });
});

it('Integrations are added, listed and removed on the platform that runs, with the key of its home', async () => {
  const output = testOutput({ json: true });
  const context = { output, home, environment: { SLIPWAY_PLATFORM_URL: platform.url } };
  await runAddIntegration(context, 'acme', {
    prefix: 'https://github.com/acme',
    credential: 'env:GITHUB_TOKEN',
    webhookSecret: 'env:WEBHOOK_SECRET',
  });
  await runListIntegrations(context, {});
  const [added, listed] = output.events;
  expect(added).toMatchObject({
    event: 'integration',
    name: 'acme',
    url_prefix: 'https://github.com/acme',
    credential: 'env:GITHUB_TOKEN',
    webhook_url: `${platform.url}/v1/integrations/github/${String(added?.['id'])}/webhook`,
  });
  expect(listed).toEqual(added);
  await runRemoveIntegration(context, 'acme', {});
  const text = testOutput();
  await runListIntegrations({ ...context, output: text }, { url: platform.url });
  expect(text.said).toEqual(['There are no integrations.']);
});

it('What there is not is said: the integration, or the key', async () => {
  const context = { output: testOutput(), home, environment: {} };
  await expect(runRemoveIntegration(context, 'nobody', { url: platform.url })).rejects.toMatchObject({
    code: 'SLIPWAY_USAGE',
  });
  await expect(
    runListIntegrations({ ...context, home: join(home, 'elsewhere') }, { url: platform.url }),
  ).rejects.toMatchObject({ code: 'SLIPWAY_SECRET_MISSING' });
});
