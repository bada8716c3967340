import { describe, expect, it } from 'vitest';

import type { KnownRevision } from '../../../src/domain/release/release.ts';
import { previousVerified, restoreCandidates } from '../../../src/domain/restore/restoreChoice.ts';

/** `a` is verified, `a?` is not, `a!` is verified and quarantined, `a=b` is the copy b of a. Oldest first. */
function known(...names: string[]): KnownRevision[] {
  return names.map((name) => ({
    revisionId: name.replace(/^.*=/, '').replace(/[?!]$/, ''),
    ...(name.includes('=') ? { copyOf: name.replace(/=.*$/, '') } : {}),
    verified: !name.endsWith('?'),
    at: '2026-01-01T00:00:00.000Z',
    ...(name.endsWith('!') ? { quarantined: true as const } : {}),
  }));
}

/** Candidates as text: `a` is verified, `a?` is not. */
function candidates(options: Partial<Parameters<typeof restoreCandidates>[0]>): string[] {
  return restoreCandidates({ to: undefined, baseline: null, known: [], avoid: [], ...options }).map(
    ({ revisionId, verified }) => `${revisionId}${verified ? '' : '?'}`,
  );
}

describe('what a restore may put back', () => {
  it('is the verified baseline first, then the verified revisions, newest first', () => {
    const baseline = { revisionId: 'b', verified: true };
    expect(candidates({ baseline, known: known('a', 'b', 'c?', 'd') })).toEqual(['b', 'd', 'a']);
  });

  it('is an unverified baseline last, as it was', () => {
    const baseline = { revisionId: 'c', verified: false };
    expect(candidates({ baseline, known: known('a', 'b', 'c?') })).toEqual(['b', 'a', 'c?']);
  });

  it('is what was asked for first, verified or not', () => {
    const baseline = { revisionId: 'b', verified: true };
    expect(candidates({ to: 'a', baseline, known: known('a', 'b') })).toEqual(['a', 'b']);
    expect(candidates({ to: 'x', baseline, known: known('a', 'b') })).toEqual(['x?', 'b', 'a']);
  });

  it('is never what failed, unless a person asks for it by name', () => {
    const baseline = { revisionId: 'b', verified: true };
    expect(candidates({ baseline, known: known('a', 'b'), avoid: ['b'] })).toEqual(['a']);
    expect(candidates({ to: 'b', baseline, known: known('a', 'b'), avoid: ['b'] })).toEqual(['b', 'a']);
  });

  it('is what a person rolled back from only by name, also if it is the baseline and there is no other', () => {
    expect(candidates({ known: known('a', 'b!', 'c') })).toEqual(['c', 'a']);
    expect(candidates({ to: 'b', known: known('a', 'b!') })).toEqual(['b', 'a']);
    for (const verified of [true, false]) {
      const baseline = { revisionId: 'b', verified };
      expect(candidates({ baseline, known: known('a', 'b!') })).toEqual(['a']);
      expect(candidates({ baseline, known: known('b!') })).toEqual([]);
    }
  });

  it('is nothing where nothing is known', () => {
    expect(candidates({})).toEqual([]);
    expect(candidates({ baseline: { revisionId: null, verified: false }, known: known('a?') })).toEqual([]);
  });

  it('is each revision at most once', () => {
    const baseline = { revisionId: 'a', verified: true };
    expect(candidates({ to: 'a', baseline, known: known('a', 'b', 'a') })).toEqual(['a', 'b']);
  });
});

describe('the revision before the active one', () => {
  it.each<[string, string[], string | null, string | undefined]>([
    ['the newest verified one before it', ['a', 'b', 'c'], 'c', 'b'],
    ['past those that are not verified', ['a', 'b?', 'c'], 'c', 'a'],
    ['past those that a person rolled back from', ['a', 'b!', 'c'], 'c', 'a'],
    ['never a newer one', ['a', 'b', 'c'], 'b', 'a'],
    ['the newest of all, where the active one is not known', ['a', 'b'], 'x', 'b'],
    ['the newest of all, where none is active', ['a', 'b'], null, 'b'],
    ['none, where the active one is the oldest', ['a', 'b'], 'a', undefined],
    ['none, where nothing is verified', ['a?', 'b?'], null, undefined],
    ['not the original of a copy', ['a', 'b', 'c!', 'b=b2'], 'b2', 'a'],
    ['not a copy of the original', ['a', 'b', 'c!', 'b=b2'], 'b', 'a'],
    ['the newest copy of the release before', ['a', 'b', 'a=a2', 'a=a3?', 'c'], 'b', 'a2'],
    ['a copy that is as old as its original', ['a', 'b', 'c', 'a=a2'], 'c', 'b'],
  ])('is %s', (_, names, active, expected) => {
    expect(previousVerified(known(...names), active)).toBe(expected);
  });
});
