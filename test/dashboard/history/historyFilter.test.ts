import { describe, expect, it } from 'vitest';

import {
  filterHistory,
  historyQuery,
  type NamedRelease,
  periodOf,
  readHistoryFilter,
} from '../../../src/dashboard/history/historyFilter.ts';
import { past } from '../../domain/target/targets.ts';

const NOW = Date.parse('2026-03-01T10:00:00Z');
const DAY_MS = 86_400_000;

function release(id: string, changes: Partial<NamedRelease> = {}): NamedRelease {
  return {
    targetId: 'target:a',
    target: 'production',
    ...past(id, { endedAt: '2026-02-20T12:00:00.000Z' }),
    requestedBy: { who: 'Ada@example.com', from: 'test' },
    ...changes,
  };
}

function shown(query: Readonly<Record<string, string>>, ...releases: readonly NamedRelease[]): string[] {
  return filterHistory(releases, readHistoryFilter(query, NOW), NOW).map(({ releaseId }) => releaseId);
}

describe('without a query', () => {
  it('the last 30 days are shown', () => {
    const filter = readHistoryFilter({}, NOW);
    expect(filter).toMatchObject({ from: '2026-01-30', to: '', page: 1 });
    expect(periodOf(filter, NOW)).toEqual({ from: Date.parse('2026-01-30'), to: NOW });
    expect(shown({}, release('new'), release('old', { endedAt: '2026-01-29T23:59:59.999Z' }))).toEqual([
      'new',
    ]);
  });

  it('running releases are shown', () => {
    expect(shown({}, release('runs', { outcome: 'running', endedAt: null }))).toEqual(['runs']);
  });
});

describe('a filter', () => {
  it('by days includes the whole last day', () => {
    const query = { from: '2026-02-19', to: '2026-02-20' };
    const late = release('late', { endedAt: '2026-02-20T23:59:00.000Z' });
    expect(shown(query, late, release('next', { endedAt: '2026-02-21T00:01:00.000Z' }))).toEqual(['late']);
  });

  it('by target, outcome, commit and person selects what matches all of them', () => {
    const wanted = release('wanted', { outcome: 'rolled_back', commit: 'c0ffee42' });
    const others = [
      release('elsewhere', { ...wanted, target: 'staging' }),
      release('ended otherwise', { commit: 'c0ffee42' }),
      release('of another commit', { ...wanted, commit: 'beef' }),
      release('by another person', { ...wanted, requestedBy: { who: 'bo', from: 'test' } }),
    ].map((other, index) => ({ ...other, releaseId: `other-${index}` }));
    const query = { target: 'production', outcome: 'rolled_back', commit: 'C0FFEE', person: 'ada' };
    expect(shown(query, wanted, ...others)).toEqual(['wanted']);
  });

  it('by search finds words anywhere in a release, in any order', () => {
    const found = release('release-7', {
      reason: 'check "greets" failed',
      requestedBy: { who: 'bo', from: 'x', reason: 'faster answers' },
    });
    expect(shown({ search: 'FASTER greets' }, found, release('release-8'))).toEqual(['release-7']);
    expect(shown({ search: 'faster farewell' }, found)).toEqual([]);
  });

  it('that is invalid is ignored', () => {
    const query = { from: 'yesterday', to: '2026-99-99', outcome: 'splendid', page: '-3' };
    expect(readHistoryFilter(query, NOW)).toEqual(readHistoryFilter({}, NOW));
  });

  it('becomes an address that reads the same', () => {
    const filter = readHistoryFilter({ target: 'production', search: 'a & b', page: '2' }, NOW);
    const query = Object.fromEntries(new URLSearchParams(historyQuery(filter)));
    expect(readHistoryFilter(query, NOW + DAY_MS)).toEqual(filter);
  });
});
