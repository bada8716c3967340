import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { deploymentName, isVersioned, workerVersion } from '../../../src/temporal/versions/workerVersion.ts';
import { useFolder } from '../../support/temporaryFolder.ts';

const folder = useFolder();

async function buildIdOf(code: string): Promise<string> {
  const path = join(folder, 'bundle.cjs');
  await writeFile(path, code);
  return (await workerVersion('slipway', path)).buildId;
}

it('the build id changes only with the workflow code', async () => {
  const one = await buildIdOf('one');
  expect(one).toMatch(/^[0-9a-f]{12}$/);
  expect(await buildIdOf('another')).not.toBe(one);
  expect(await buildIdOf('one')).toBe(one);
});

it('the deployment is named after the task queue, if Temporal accepts the name', () => {
  expect(deploymentName('slipway-eu')).toBe('slipway-eu');
  expect(() => deploymentName('team.slipway')).toThrow('cannot be versioned');
  expect(() => deploymentName('team:slipway')).toThrow('cannot be versioned');
});

describe('workers are versioned', () => {
  it.each([undefined, '', '0'])('not with %o', (text) => {
    expect(isVersioned({ SLIPWAY_WORKER_VERSIONING: text })).toBe(false);
  });

  it('with 1; every other text is rejected', () => {
    expect(isVersioned({ SLIPWAY_WORKER_VERSIONING: '1' })).toBe(true);
    expect(() => isVersioned({ SLIPWAY_WORKER_VERSIONING: 'yes' })).toThrow('not valid');
  });
});
