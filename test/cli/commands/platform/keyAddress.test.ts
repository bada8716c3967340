import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, expect, it } from 'vitest';

import { runKeysListCommand } from '../../../../src/cli/commands/platform/access.ts';
import { writeDevState } from '../../../../src/temporal/server/devState.ts';
import { type FaultyService, json, startService } from '../../../clients/faultyService.ts';
import { useFolders } from '../../../support/temporaryFolder.ts';
import { testOutput } from '../../testOutput.ts';

const home = useFolders();
const keys: unknown[] = [];
let other: FaultyService;

beforeEach(async () => {
  await writeFile(join(home(), 'api.key'), 'key-of-the-home\n');
  other = await startService(({ headers }, response) => {
    keys.push(headers['x-api-key']);
    json(response, 200, { resources: [], offset: 0 });
  });
});

const list = (options: { url: string }, environment = {}) =>
  runKeysListCommand({ output: testOutput(), home: home(), environment }, options);
const refused = { code: 'SLIPWAY_SECRET_REFUSED' };

it("a home's key is not sent to another machine", async () => {
  await expect(list({ url: 'http://192.0.2.1:4700' })).rejects.toMatchObject(refused);
  const environment = { SLIPWAY_PLATFORM_URL: 'https://127.0.0.1.example.com' };
  await expect(list({ url: environment.SLIPWAY_PLATFORM_URL }, environment)).rejects.toMatchObject(refused);
});

it('a key of the environment goes only to the address of the environment', async () => {
  const named = { SLIPWAY_PLATFORM_URL: 'http://127.0.0.1:1', SLIPWAY_PLATFORM_API_KEY: 'given' };
  await expect(list(other, named)).rejects.toMatchObject(refused);
  expect(keys).toEqual([]);
  await list(other, { ...named, SLIPWAY_PLATFORM_URL: other.url });
  await list(other, { SLIPWAY_PLATFORM_API_KEY: 'with the option' });
  expect(keys.splice(0)).toEqual(['given', 'with the option']);
});

it('an address that is no URL is a usage error', async () => {
  const environment = { SLIPWAY_PLATFORM_URL: 'platform:4700', SLIPWAY_PLATFORM_API_KEY: 'given' };
  for (const known of [{}, environment])
    await expect(list({ url: 'platform:4700' }, known)).rejects.toMatchObject({ code: 'SLIPWAY_USAGE' });
  await expect(list(other, environment)).rejects.toMatchObject({ code: 'SLIPWAY_USAGE' });
});

it("the key of a running slipway dev is sent only to that dev's control plane", async () => {
  await list(other);
  expect(keys.splice(0)).toEqual(['key-of-the-home']);
  await writeDevState(home(), {
    pid: process.pid,
    startedAt: '2026-11-21T03:00:00.000Z',
    temporal: { address: '127.0.0.1:1', namespace: 'default', ui: null },
    controlPlane: 'http://127.0.0.1:1',
    dashboard: 'http://127.0.0.1:1',
    apiKeyFile: join(home(), 'api.key'),
    taskQueue: 'slipway',
  });
  await expect(list(other)).rejects.toMatchObject(refused);
  expect(keys).toEqual([]);
});
