import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { agentKey } from '../../../src/inspection/deployment/deploymentAccess.ts';
import { writeDevState } from '../../../src/temporal/server/devState.ts';
import { useFolders } from '../../support/temporaryFolder.ts';

const folder = useFolders();
const controlPlane = 'http://127.0.0.1:4700';
const foreign = 'https://agent.example.com/a';
const from = { from: 'env:SLIPWAY_API_KEY' };
const target = { controlPlane, apiKey: from, agentApiKey: from };

/** A home in which `slipway dev` runs. */
async function homeOfDev(): Promise<string> {
  const home = folder();
  const apiKeyFile = join(home, 'api.key');
  await writeFile(apiKeyFile, 'the-key-of-dev\n');
  await writeDevState(home, {
    pid: process.pid,
    startedAt: new Date().toISOString(),
    temporal: { address: '127.0.0.1:7233', namespace: 'default', ui: null },
    controlPlane,
    dashboard: 'http://127.0.0.1:4701',
    apiKeyFile,
    taskQueue: 'slipway',
  });
  return home;
}

describe('the key of a running "slipway dev", if SLIPWAY_API_KEY is not set', () => {
  it('is sent to an agent on its control plane, and to what the file names', async () => {
    const machine = { home: await homeOfDev(), environment: {} };
    expect(await agentKey(machine, target, `${controlPlane}/agents/a`)).toBe('the-key-of-dev');
    const named = { ...target, agentOrigins: ['https://*.example.com'] };
    expect(await agentKey(machine, named, foreign)).toBe('the-key-of-dev');
  });

  it('is not sent to an address that only the control plane names', async () => {
    const machine = { home: await homeOfDev(), environment: {} };
    await expect(agentKey(machine, target, foreign)).rejects.toMatchObject({
      code: 'SLIPWAY_SECRET_MISSING',
    });
    const environment = { SLIPWAY_API_KEY: 'a-key-of-the-agent' };
    expect(await agentKey({ ...machine, environment }, target, foreign)).toBe('a-key-of-the-agent');
  });

  it('is sent only where the file of origins allows', async () => {
    const home = await homeOfDev();
    const origins = join(home, 'origins.yaml');
    await writeFile(origins, `env:SLIPWAY_API_KEY: ['https://other.example.com']\n`);
    const machine = { home, environment: { SLIPWAY_SECRET_ORIGINS: origins } };
    const asked = agentKey(machine, target, `${controlPlane}/agents/a`);
    await expect(asked).rejects.toMatchObject({ code: 'SLIPWAY_SECRET_REFUSED' });
  });
});
