import { describe, expect, it } from 'vitest';

import { noticesBetween, startNotice } from '../../../src/domain/notify/noticeContent.ts';
import type { NoticeContent } from '../../../src/domain/notify/notice.ts';
import type { ReleaseResult } from '../../../src/domain/release/release.ts';
import type { Outcome } from '../../../src/domain/release/outcome.ts';
import { requestRollback } from '../../../src/domain/rollback/targetRollback.ts';
import {
  releaseHold,
  setHold,
  submitRelease,
  takeNext,
  withdrawReleases,
} from '../../../src/domain/target/targetQueue.ts';
import { recordResult } from '../../../src/domain/target/targetResult.ts';
import { EMPTY_TARGET, noteAccepted, type TargetState } from '../../../src/domain/target/targetState.ts';
import { ADA, NOW, request, result, rollback, seasoned, verified } from '../target/targets.ts';

function told(before: TargetState, after: TargetState): string[] {
  return noticesBetween(before, after).map(({ event, name }) => `${event} ${name ?? ''}`.trim());
}

const HOUR_MS = 3_600_000;

/** The notices of a release that ended on a target, and the target after it. */
function ending(
  before: TargetState,
  how: Partial<ReleaseResult>,
): readonly [readonly NoticeContent[], TargetState] {
  const after = recordResult(before, result('release-1', how), HOUR_MS);
  return [noticesBetween(before, after), after];
}

describe('the notices of a change of a target', () => {
  it('are none for a queued release, or a recorded message', () => {
    const target = seasoned();
    const { state } = submitRelease(target, null, request('a'), NOW);
    expect(told(target, state)).toEqual([]);
    expect(told(EMPTY_TARGET, EMPTY_TARGET)).toEqual([]);
    const said = { at: NOW, message: 'quarantine', by: ADA, note: '' };
    expect(told(target, noteAccepted(target, said))).toEqual([]);
  });

  it.each<Outcome>(['released', 'rolled_back', 'failed', 'rollback_failed', 'errored', 'aborted'])(
    'include the end of a release that ended %s, under that name',
    (outcome) => {
      const code = 'SLIPWAY_CHECK_FAILED';
      const [notices] = ending(seasoned(), { outcome, code });
      const of = { kind: 'release', name: 'release-1', by: ADA } as const;
      expect(notices).toMatchObject([{ ...of, event: outcome, outcome, code }]);
    },
  );

  it('have instructions only if a person is needed', () => {
    const instructions = '1. Look.';
    const [notices, stuck] = ending(seasoned(), { outcome: 'rollback_failed', instructions });
    expect(notices).toMatchObject([{ event: 'rollback_failed', instructions }]);
    const [later, aborted] = ending(stuck, { outcome: 'aborted', releaseId: 'release-2' });
    expect(aborted.needsPerson).not.toBeNull();
    expect(later).toMatchObject([{ event: 'aborted', instructions: null }]);
  });

  it('include each release that never starts: superseded, withdrawn, rejected', () => {
    const { state: one } = submitRelease(seasoned(), null, request('a'), NOW);
    const { state: two } = submitRelease(one, null, request('b'), NOW);
    expect(told(one, two)).toEqual(['superseded release-2']);
    expect(told(two, withdrawReleases(two, undefined, ADA, NOW).state)).toEqual(['aborted release-3']);
    expect(told(two, setHold(two, ADA, NOW))).toEqual(['hold_set', 'rejected release-3']);
  });

  it('include a hold and its end, with the person', () => {
    const target = seasoned();
    const held = setHold(target, ADA, NOW);
    const bo = { who: 'bo', from: 'test' };
    const freed = noteAccepted(releaseHold(held), { at: NOW, message: 'unhold', by: bo, note: '' });
    const set = { event: 'hold_set', kind: 'hold', name: null, by: ADA };
    expect(noticesBetween(target, held)).toMatchObject([set]);
    expect(noticesBetween(held, freed)).toMatchObject([{ event: 'hold_released', by: bo }]);
  });

  it('include the hold of a rollback that had nothing to restore', () => {
    const asked = requestRollback({ state: seasoned(), running: null, now: NOW }, rollback('r')).state;
    const failed = result('rollback-2', { outcome: 'failed', servingRevisionId: null });
    const ended = recordResult(asked, failed, HOUR_MS);
    expect(told(asked, ended)).toEqual(['hold_released', 'failed rollback-2']);
    expect(noticesBetween(asked, ended)[0]?.by.who).toBe('slipway');
  });

  it('include each ended release once, also after the oldest rows are gone', () => {
    let state = seasoned();
    for (let number = 1; number <= 120; number++) {
      const after = recordResult(state, result(`release-${number}`), HOUR_MS);
      expect(told(state, after)).toEqual([`released release-${number}`]);
      state = after;
    }
  });

  it('have the commit of what serves again, also of a copy of it', () => {
    const artifact = 'sha256:aa';
    const [, shipped] = ending(seasoned(), {
      revisionId: 'one',
      servingRevisionId: 'one',
      commit: 'c1',
      artifact,
    });
    const back = { outcome: 'rolled_back', revisionId: null, commit: null, artifact: null } as const;
    const copy = { ...verified('copy'), artifact: 'sha256:aabbcc' };
    const servingCommit = (servingRevisionId: string): unknown =>
      ending(shipped, { ...back, servingRevisionId, knownRevisions: [copy] })[0][0]?.servingCommit;
    expect(['one', 'copy', 'old'].map(servingCommit)).toEqual(['c1', 'c1', null]);
  });
});

describe('the notices of a start', () => {
  it('have the artifact of a release, with its commit', () => {
    const { state } = submitRelease(seasoned(), null, request('a', { commit: 'c0ffee' }), NOW);
    const next = takeNext(state);
    expect(startNotice(request('a').target, next!.work)).toMatchObject({
      event: 'release_started',
      target: 'production',
      targetId: 'target:https://control.test:agent',
      name: 'release-2',
      commit: 'c0ffee',
      outcome: null,
    });
  });

  it('have the destination of a rollback', () => {
    const { state } = requestRollback({ state: seasoned(), running: null, now: NOW }, rollback('r', 'old'));
    expect(startNotice(request('a').target, takeNext(state)!.work)).toMatchObject({
      event: 'rollback_started',
      name: 'rollback-2',
      reason: 'revision old is being restored',
    });
  });
});
