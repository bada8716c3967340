import { describe, expect, it } from 'vitest';

import {
  previousVersion,
  type RoutedVersion,
  type Routing,
  versionsStartingWith,
} from '../../../src/temporal/versions/routing.ts';

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
