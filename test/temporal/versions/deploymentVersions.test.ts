import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import {
  deploymentName,
  isVersioned,
  previousVersion,
  type RoutedVersion,
  type Routing,
  versionsStartingWith,
  workerVersion,
} from '../../../src/temporal/versions/deploymentVersions.ts';
import { useFolder } from '../../support/temporaryFolder.ts';

function version(buildId: string, lastActiveAt?: number): RoutedVersion {
  return { buildId, status: 'inactive', createdAt: 0, lastActiveAt };
}

function routing(current: string, ...versions: readonly RoutedVersion[]): Routing {
  return { current, wasEverCurrent: true, ramping: undefined, versions };
}

describe('a rollback of worker versions goes to', () => {
  it('the version that last stopped taking work', () => {
    expect(previousVersion(routing('c', version('c'), version('b', 2), version('a', 1)))).toBe('b');
  });

  it('the newer version after a step back, and not to the current one', () => {
    expect(previousVersion(routing('b', version('c', 3), version('b', 2)))).toBe('c');
  });

  it('no version that never took work', () => {
    expect(previousVersion(routing('b', version('c'), version('b')))).toBeUndefined();
  });
});

it('a build id is found by a prefix', () => {
  const known = routing('aa1', version('aa1'), version('aa2'), version('b'));
  expect(versionsStartingWith(known, 'aa')).toEqual(['aa1', 'aa2']);
  expect(versionsStartingWith(known, 'b')).toEqual(['b']);
  expect(versionsStartingWith(known, 'c')).toEqual([]);
});

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
