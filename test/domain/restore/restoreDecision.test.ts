import { describe, expect, it } from 'vitest';

import type { Check } from '../../../src/domain/check/check.ts';
import type { Baseline, KnownRevision } from '../../../src/domain/release/release.ts';
import {
  afterFailure,
  barredBefore,
  checkIdentity,
  type FailedAttempt,
  type Finding,
  previousVerified,
  restoreCandidates,
  type StayReason,
  stayText,
} from '../../../src/domain/restore/restoreDecision.ts';

const check = (failedCheck: string): Finding => ({ failedCheck, silent: false });
/** No call succeeded. If a check was begun, its call failed. */
const silent = (failedCheck: string | null = null): Finding => ({ failedCheck, silent: true });

/** The earlier findings, how the attempt failed, its number, other conditions, and the decision. */
type Row = [string, Finding[], FailedAttempt, number, { manual?: boolean; others?: Finding[] }, string];

describe('after an attempt to restore a revision has failed', () => {
  it.each<Row>([
    ['the same check fails: it stays', [check('A')], check('A'), 1, {}, 'same_check'],
    ['the same check cannot be carried out on either', [silent('A')], check('A'), 1, {}, 'same_check'],
    ['no call works on either, whatever the check', [silent('B')], silent('A'), 1, {}, 'no_call'],
    ['another check fails: one more try', [check('B')], check('A'), 1, {}, 'again'],
    ['another check fails again: the next one', [check('B')], check('A'), 2, {}, 'next'],
    ['no call works, but calls worked before', [check('B')], silent('A'), 2, {}, 'next'],
    ['it was not deployed: one more try', [check('A')], 'not_deployed', 1, {}, 'again'],
    ['it was not deployed again: the next one', [check('A')], 'not_deployed', 2, {}, 'next'],
    ['the redeploy was not taken: the next one at once', [], 'not_taken', 1, {}, 'next'],
    ['a second revision fails another check', [check('C')], check('A'), 1, { others: [check('B')] }, 'again'],
    ['a second one fails it too', [check('C')], check('B'), 1, { others: [check('B')] }, 'same_check'],
    ['no call works on two', [check('C')], silent('A'), 1, { others: [silent('B')] }, 'no_call'],
    ['a third fails another', [], check('A'), 1, { others: [check('B'), check('C')] }, 'everywhere'],
    ['a person asked, and it fails its checks', [], check('A'), 1, { manual: true }, 'asked_for'],
    ['a person asked, and no call works', [], silent(), 1, { manual: true }, 'asked_for'],
    ['a person asked, and the same check fails', [check('A')], check('A'), 1, { manual: true }, 'same_check'],
    ['a person asked, and it is not deployed', [], 'not_deployed', 2, { manual: true }, 'next'],
  ])('%s', (_, before, attempt, tries, { manual = false, others = [] }, expected) => {
    const then = afterFailure({ attempt, tries, manual, before, others });
    expect(typeof then === 'object' ? then.stays : then).toBe(expected);
  });

  it.each<StayReason>(['same_check', 'no_call', 'everywhere', 'asked_for'])(
    'names the revision that stays, and why: %s',
    (stays) => {
      const text = stayText(stays, 'r1', 'the answer is wrong');
      expect(text).toContain('revision r1 is restored');
      expect(text).toContain('the answer is wrong');
    },
  );
});

describe('a check', () => {
  const asks = { assistant: 'agent', input: { a: 1, b: 2 }, expect: { contains: 'x' } };
  const one: Check = { name: 'one', ...asks, timeoutMs: 1 };

  it('is the same with another name, another deadline, and its fields in another order', () => {
    const other = { ...one, name: 'other', timeoutMs: 9, input: { b: 2, a: 1 } };
    expect(checkIdentity(other)).toBe(checkIdentity(one));
  });

  it('differs if its question, its assistant or its expectation differs', () => {
    for (const change of [{ input: { a: 2 } }, { assistant: 'b' }, { expect: { contains: 'y' } }]) {
      expect(checkIdentity({ ...one, ...change })).not.toBe(checkIdentity(one));
    }
  });
});

/** `a` is verified, `a?` is not, `a!` is verified and quarantined, `a=b` is the copy b of a, `b>a` replaced a. Oldest first. */
function known(...names: string[]): KnownRevision[] {
  return names.map((name) => ({
    revisionId: name.replace(/^.*=/, '').replace(/[?!]$|>.*$/, ''),
    ...(name.includes('>') ? { replaced: name.replace(/^.*>/, '') } : {}),
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

/** The baseline as {@link known} writes it; `?` alone is one without a revision. */
function baselineOf(name: string): Baseline | null {
  return name === '' ? null : { revisionId: name.replace('?', '') || null, verified: !name.endsWith('?') };
}

describe('the choice of a restore', () => {
  it.each<[string, string, string | undefined, string[], string[]]>([
    [
      'the verified baseline, then the verified, newest first',
      'b',
      undefined,
      ['a', 'b', 'c?', 'd'],
      ['b', 'd', 'a'],
    ],
    ['an unverified baseline last', 'c?', undefined, ['a', 'b', 'c?'], ['b', 'a', 'c?']],
    ['what was asked for first, not verified', 'b', 'x', ['a', 'b'], ['x?', 'b', 'a']],
    ['not what a person left', '', undefined, ['a', 'b!', 'c'], ['c', 'a']],
    ['what a person left by its name', '', 'b', ['a', 'b!'], ['b', 'a']],
    ['not the baseline that a person left', 'b', undefined, ['a', 'b!'], ['a']],
    ['not the unverified baseline that a person left', 'b?', undefined, ['a', 'b!'], ['a']],
    ['nothing where nothing is known', '', undefined, [], []],
    ['nothing where nothing is verified', '?', undefined, ['a?'], []],
    ['each revision at most once', 'a', 'a', ['a', 'b', 'a'], ['a', 'b']],
  ])('is %s', (_, baseline, to, names, expected) => {
    expect(candidates({ baseline: baselineOf(baseline), to, known: known(...names) })).toEqual(expected);
  });

  it('is never a failed revision, unless a person names it', () => {
    const failed = { baseline: baselineOf('b'), known: known('a', 'b'), avoid: ['b'] };
    expect(candidates(failed)).toEqual(['a']);
    expect(candidates({ to: 'b', ...failed })).toEqual(['b', 'a']);
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
    ['not the original of a copy', ['a', 'b', 'c!', 'b=b2'], 'b2', 'a'],
    ['not a copy of the original', ['a', 'b', 'c!', 'b=b2'], 'b', 'a'],
    ['the newest copy of the release before', ['a', 'b', 'a=a2', 'a=a3?', 'c'], 'b', 'a2'],
    ['a copy that is as old as its original', ['a', 'b', 'c', 'a=a2'], 'c', 'b'],
    ['none that is newer than what it replaced', ['a', 'b', 'c', 'd>a'], 'd', 'a'],
    ['a copy that it replaced', ['a', 'b', 'c!', 'a=a2', 'd>a2'], 'd', 'a2'],
    ['the newest one before it, where what it replaced is not known', ['b', 'c', 'd>a'], 'd', 'c'],
  ])('is %s', (_, names, active, expected) => {
    expect(previousVerified(known(...names), active)).toBe(expected);
  });

  it('is barred if a person rolled back from each earlier one', () => {
    expect(barredBefore(known('a?', 'b'), 'b')).toBeUndefined();
    expect(barredBefore(known('a!', 'b!', 'c'), 'c')).toBe('b');
  });
});
