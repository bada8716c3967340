import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { temporalSettings, workflowPage } from '../../../src/temporal/client/temporalSettings.ts';
import {
  type DevState,
  readDevState,
  removeDevState,
  writeDevState,
} from '../../../src/temporal/server/devState.ts';
import { useFolders } from '../../support/temporaryFolder.ts';

const home = useFolders();

const noFile = { HOME: '/nonexistent', XDG_CONFIG_HOME: '/nonexistent' };

function devState(pid: number): DevState {
  return {
    pid,
    startedAt: '2026-11-21T00:00:00.000Z',
    temporal: { address: '127.0.0.1:7300', namespace: 'default', ui: 'http://127.0.0.1:8300' },
    controlPlane: 'http://127.0.0.1:4700',
    dashboard: 'http://127.0.0.1:4701',
    apiKeyFile: join(home(), 'api.key'),
    taskQueue: 'slipway',
  };
}

describe('the Temporal to use', () => {
  it('is localhost by default', async () => {
    const settings = await temporalSettings(home(), noFile);
    expect(settings).toMatchObject({
      address: 'localhost:7233',
      namespace: 'default',
      taskQueue: 'slipway',
      origin: 'default',
      ui: null,
      dashboard: null,
    });
  });

  it('comes from Temporal’s own environment configuration, with its namespace', async () => {
    await writeDevState(home(), devState(process.pid));
    const settings = await temporalSettings(home(), {
      ...noFile,
      TEMPORAL_ADDRESS: 'prod.abc.tmprl.cloud:7233',
      TEMPORAL_NAMESPACE: 'prod.abc',
      SLIPWAY_TASK_QUEUE: 'blue',
    });
    expect(settings).toMatchObject({
      address: 'prod.abc.tmprl.cloud:7233',
      namespace: 'prod.abc',
      taskQueue: 'blue',
      origin: 'environment',
      ui: 'https://cloud.temporal.io',
    });
  });

  it.each([
    'http://localhost:7233',
    'https://prod.abc.tmprl.cloud',
    'localhost:http',
    'localhost:7233/default',
    'localhost:72333',
    'a b',
  ])('is rejected if its address is %j instead of a host and a port', async (address) => {
    await expect(temporalSettings(home(), { ...noFile, TEMPORAL_ADDRESS: address })).rejects.toMatchObject({
      code: 'SLIPWAY_CONFIG_INVALID',
      exitCode: 1,
      message: `Temporal's address is "${address}", not host:port`,
    });
  });

  it.each([
    'TEMPORAL_ADDRESS',
    'TEMPORAL_NAMESPACE',
    'TEMPORAL_API_KEY',
    'TEMPORAL_TLS_CLIENT_CERT_PATH',
    'TEMPORAL_PROFILE',
    'SLIPWAY_TASK_QUEUE',
  ])('is the same if %s is empty, as a variable that CI does not know', async (name) => {
    const settings = await temporalSettings(home(), { ...noFile, [name]: ' ' });
    expect(settings).toEqual(await temporalSettings(home(), noFile));
  });

  it('has no line break of a variable that a file was read into', async () => {
    const read = { TEMPORAL_ADDRESS: 'temporal:7233\n', SLIPWAY_TASK_QUEUE: 'blue\n' };
    expect(await temporalSettings(home(), { ...noFile, ...read })).toMatchObject({
      address: 'temporal:7233',
      taskQueue: 'blue',
    });
  });

  it.each(['[::1]:7233', 'temporal', 'prod.abc.tmprl.cloud:7233', '10.0.0.7:7233'])(
    'is accepted if its address is %j',
    async (address) => {
      const settings = await temporalSettings(home(), { ...noFile, TEMPORAL_ADDRESS: address });
      expect(settings.address).toBe(address);
    },
  );

  it('is the one of a `slipway dev` that runs in this home', async () => {
    await writeDevState(home(), devState(process.pid));
    const settings = await temporalSettings(home(), noFile);
    expect(settings).toMatchObject({ address: '127.0.0.1:7300', origin: 'dev', ui: 'http://127.0.0.1:8300' });
    expect(settings.dashboard).toBe('http://127.0.0.1:4701');
    expect(settings.connectionOptions.address).toBe('127.0.0.1:7300');
  });

  it('is not the one of a `slipway dev` that has ended', async () => {
    // No process id is as large as this.
    await writeDevState(home(), devState(2 ** 30));
    expect((await temporalSettings(home(), noFile)).origin).toBe('default');
  });

  it('is rejected with the reason and a way out if the state of `slipway dev` cannot be read', async () => {
    await mkdir(join(home(), 'dev.json'));
    await expect(temporalSettings(home(), noFile)).rejects.toMatchObject({
      message: expect.stringContaining('EISDIR') as string,
      hint: expect.stringContaining('SLIPWAY_HOME') as string,
    });
  });

  it('is rejected if a profile has an empty namespace', async () => {
    const file = join(home(), 'temporal.toml');
    await writeFile(file, '[profile.default]\nnamespace = ""\n');
    await expect(temporalSettings(home(), { ...noFile, TEMPORAL_CONFIG_FILE: file })).rejects.toMatchObject({
      code: 'SLIPWAY_CONFIG_INVALID',
      message: 'Temporal’s namespace is empty',
    });
  });

  it('is rejected with the place if a profile does not exist', async () => {
    const environment = { ...noFile, TEMPORAL_PROFILE: 'nowhere' };
    await expect(temporalSettings(home(), environment)).rejects.toMatchObject({
      code: 'SLIPWAY_CONFIG_INVALID',
    });
  });
});

describe('the file of `slipway dev`', () => {
  it('is readable only by its owner', async () => {
    await writeDevState(home(), devState(process.pid));
    expect((await stat(join(home(), 'dev.json'))).mode & 0o777).toBe(0o600);
    await removeDevState(home());
    expect(await readDevState(home())).toBeUndefined();
  });

  it('is rejected if another user wrote it', async () => {
    await writeFile(join(home(), 'dev.json'), '{"pid": "one"}');
    await expect(readDevState(home())).rejects.toMatchObject({ code: 'SLIPWAY_CONFIG_INVALID' });
  });
});

describe('the URL of a workflow', () => {
  it('escapes the id, which contains a URL', () => {
    const page = workflowPage({ ui: 'http://ui', namespace: 'default' }, 'target:http://a/b:c');
    expect(page).toBe('http://ui/namespaces/default/workflows/target%3Ahttp%3A%2F%2Fa%2Fb%3Ac');
  });
});
