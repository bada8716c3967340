import { msToTs } from '@temporalio/common/lib/time.js';
import { describe, expect, it } from 'vitest';

import {
  describeRouting,
  previousVersion,
  type RoutedVersion,
  type Routing,
  versionsStartingWith,
} from '../../../src/temporal/versions/routing.ts';
import { answeringTemporal } from '../client/answeringTemporal.ts';

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

it.each([
  ['no time', undefined],
  ['the time 0', msToTs(0)],
  ['the year 1', msToTs(Date.parse('0001-01-01T00:00:00Z'))],
])('a version was never current, nor took work, if Temporal says so by %s', async (_, empty) => {
  const times = { createTime: msToTs(5), lastCurrentTime: empty, lastDeactivationTime: empty };
  const described = {
    workerDeploymentInfo: {
      routingConfig: { currentVersionChangedTime: empty },
      versionSummaries: [{ deploymentVersion: { buildId: 'a' }, ...times }],
    },
  };
  const temporal = answeringTemporal({ workflow: {} });
  const describeWorkerDeployment = () => Promise.resolve(described);
  Object.assign(temporal.connection.workflowService, { describeWorkerDeployment });
  expect(await describeRouting(temporal)).toMatchObject({
    wasEverCurrent: false,
    versions: [{ buildId: 'a', createdAt: 5, lastActiveAt: undefined }],
  });
});

it('a build id is found by a prefix', () => {
  const known = routing('aa1', version('aa1'), version('aa2'), version('b'));
  expect(versionsStartingWith(known, 'aa')).toEqual(['aa1', 'aa2']);
  expect(versionsStartingWith(known, 'b')).toEqual(['b']);
  expect(versionsStartingWith(known, 'c')).toEqual([]);
});
