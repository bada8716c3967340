import { describe, expect, it } from 'vitest';

import { counterLateRevision, forgetLateRevision, recordResult } from '../../src/domain/targetResult.ts';
import { result, rollback, seasoned, verified } from './targets.ts';

const HOUR = 3_600_000;

describe('a result', () => {
  it('becomes a row, what serves, and what is known', () => {
    const news = [verified('new')];
    const state = recordResult(
      seasoned({ known: [verified('old')] }),
      result('release-1', { knownRevisions: news }),
      HOUR,
    );
    expect(state.history).toMatchObject([{ releaseId: 'release-1', outcome: 'released', revisionId: 'new' }]);
    expect(state.activeRevisionId).toBe('new');
    expect(state.known.map(({ revisionId }) => revisionId)).toEqual(['old', 'new']);
  });

  it('keeps the order in which revisions were first known, with the newest word on each', () => {
    const known = ['a', 'b', 'c'].map(verified);
    const news = [{ ...verified('b'), verified: false }, verified('d')];
    const state = recordResult(seasoned({ known }), result('release-1', { knownRevisions: news }), HOUR);
    expect(state.known.map(({ revisionId, verified: good }) => [revisionId, good])).toEqual([
      ['a', true],
      ['b', false],
      ['c', true],
      ['d', true],
    ]);
  });

  it('that does not know what serves leaves nothing to be taken for what serves', () => {
    const before = seasoned({ activeRevisionId: 'old' });
    for (const outcome of ['errored', 'rollback_failed'] as const) {
      expect(
        recordResult(before, result('r', { outcome, servingRevisionId: null }), HOUR).activeRevisionId,
      ).toBeNull();
    }
    for (const outcome of ['failed', 'aborted'] as const) {
      expect(
        recordResult(before, result('r', { outcome, servingRevisionId: null }), HOUR).activeRevisionId,
      ).toBe('old');
    }
  });

  it('with an endless reason keeps the beginning of it', () => {
    const state = recordResult(seasoned(), result('release-1', { reason: 'x'.repeat(50_000) }), HOUR);
    expect(state.history[0]?.reason).toHaveLength(1_000);
  });

  it('has its given-up revisions watched for a while, except the one that serves', () => {
    const givenUpRevisionIds = ['late', 'new'];
    const state = recordResult(seasoned(), result('release-1', { givenUpRevisionIds }), HOUR);
    expect(state.late).toEqual([
      { revisionId: 'late', deploymentId: 'deployment', restoreTo: 'new', until: '2026-01-01T01:00:00.000Z' },
    ]);
  });

  it('ends the watch of a revision that serves now on purpose', () => {
    const late = [{ revisionId: 'new', deploymentId: 'd', restoreTo: 'old', until: 'later' }];
    expect(recordResult(seasoned({ late }), result('release-2'), HOUR).late).toEqual([]);
  });

  it('watches nothing where there is nothing to put back', () => {
    const changes = { givenUpRevisionIds: ['late'], servingRevisionId: null };
    expect(recordResult(seasoned(), result('release-1', changes), HOUR).late).toEqual([]);
  });
});

describe('a hold', () => {
  const waiting = rollback('r1');
  const held = seasoned({
    rollbacks: [waiting],
    hold: { since: 'then', by: waiting.requestedBy, requestId: 'r1' },
  });

  it('goes with the rollback that set it and changed nothing', () => {
    const failed = result('rollback-1', { outcome: 'failed', code: 'SLIPWAY_NOTHING_TO_RESTORE' });
    expect(recordResult(held, failed, HOUR).hold).toBeNull();
  });

  it.each(['rolled_back', 'rollback_failed'] as const)('stays after a rollback that ended %s', (outcome) => {
    expect(recordResult(held, result('rollback-1', { outcome }), HOUR).hold).not.toBeNull();
  });

  it('that a person set, or an earlier rollback, stays', () => {
    const failed = result('rollback-1', { outcome: 'failed' });
    for (const hold of [
      { since: 'then', by: waiting.requestedBy },
      { since: 'then', by: waiting.requestedBy, requestId: 'r0' },
    ]) {
      expect(recordResult({ ...held, hold }, failed, HOUR).hold).toBe(hold);
    }
  });
});

describe('a drift', () => {
  const known = seasoned({ activeRevisionId: 'a' });
  const found = (revisionId: string | null) =>
    result('release-1', { baseline: { revisionId, verified: false } });

  it('is noticed where something else served than was known to', () => {
    expect(recordResult(known, found('b'), HOUR).drift).toMatchObject({ expected: 'a', found: 'b' });
    expect(recordResult(known, found(null), HOUR).drift).toMatchObject({ expected: 'a', found: null });
  });

  it('is over with the next release that finds what it expects', () => {
    const drifted = { ...known, drift: { at: 'then', expected: 'z', found: 'b' } };
    expect(recordResult(drifted, found('a'), HOUR).drift).toBeNull();
  });

  it('is none where it is not known what served, nothing was looked at, or a late revision of ours came up', () => {
    expect(recordResult(seasoned(), found('b'), HOUR).drift).toBeNull();
    expect(recordResult(known, result('release-1'), HOUR).drift).toBeNull();
    const late = [{ revisionId: 'b', deploymentId: 'd', restoreTo: 'a', until: 'then' }];
    expect(recordResult({ ...known, late }, found('b'), HOUR).drift).toBeNull();
  });
});

describe('the rollbacks that a result settles', () => {
  const tried = {
    step: 'redeploy',
    subject: 'x',
    restoring: true,
    startedAt: '',
    status: 'failed',
  } as const;

  it.each<[string, Parameters<typeof result>, string[], string[]]>([
    [
      'a rollback settles the first, whatever came of it',
      ['rollback-2', { outcome: 'rollback_failed' }],
      ['first', 'second:x'],
      ['second:x'],
    ],
    [
      'a release that was stopped settles one without a name',
      ['release-1', { outcome: 'rolled_back', servingRevisionId: 'old' }],
      ['any'],
      [],
    ],
    [
      'and one to what it put back',
      ['release-1', { outcome: 'rolled_back', servingRevisionId: 'x' }],
      ['named:x', 'other:y'],
      ['other:y'],
    ],
    [
      'and one to what it tried in vain',
      ['release-1', { outcome: 'rolled_back', servingRevisionId: 'old', steps: [tried] }],
      ['named:x'],
      [],
    ],
    [
      'but not one that came when it was released',
      ['release-1', {}],
      ['any', 'named:new'],
      ['any', 'named:new'],
    ],
    [
      'nor one when it ended without a word',
      ['release-1', { outcome: 'errored', servingRevisionId: null }],
      ['any'],
      ['any'],
    ],
    [
      'an aborted one settles one without a name',
      ['release-1', { outcome: 'aborted', servingRevisionId: null }],
      ['any', 'named:x'],
      ['named:x'],
    ],
  ])('%s', (_, [id, changes], waiting, left) => {
    const rollbacks = waiting.map((text) => rollback(text.split(':')[0]!, text.split(':')[1]));
    const state = recordResult(seasoned({ rollbacks }), result(id, changes), HOUR);
    expect(
      state.rollbacks.map(({ requestId, to }) => (to === undefined ? requestId : `${requestId}:${to}`)),
    ).toEqual(left);
    const settled = waiting.filter((text) => !left.includes(text)).map((text) => text.split(':')[0]);
    expect(state.history.at(-1)?.rollbackRequestIds).toEqual(settled);
  });
});

describe('a late revision', () => {
  const late = { revisionId: 'late', deploymentId: 'd', restoreTo: 'then', until: 'later' };

  it('that came up is countered with what serves now, without a hold', () => {
    const state = counterLateRevision(seasoned({ late: [late], activeRevisionId: 'now' }), late, 'id');
    expect(state.late).toEqual([]);
    expect(state.hold).toBeNull();
    expect(state.rollbacks).toMatchObject([{ requestId: 'id', to: 'now', requestedBy: { who: 'slipway' } }]);
  });

  it('that came up where it is not known what serves is countered with what served then', () => {
    expect(counterLateRevision(seasoned({ late: [late] }), late, 'id').rollbacks).toMatchObject([
      { to: 'then' },
    ]);
  });

  it('is forgotten alone', () => {
    const other = { ...late, revisionId: 'other' };
    expect(forgetLateRevision(seasoned({ late: [late, other] }), late).late).toEqual([other]);
  });
});
