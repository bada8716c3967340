import { describe, expect, it } from 'vitest';

import { keepSettings, recordResult } from '../../../src/domain/target/targetResult.ts';
import { ADA, NOW, result, rollback, seasoned, verified } from './targets.ts';

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

  it('knows a revision for quarantined whose artifact came into quarantine while it was released', () => {
    const artifact = 'sha256:x';
    const released = recordResult(
      seasoned({ quarantined: [{ artifact, since: NOW, by: ADA }] }),
      result('release-1', { knownRevisions: [{ ...verified('new'), artifact }, verified('other')] }),
      HOUR,
    );
    expect(released.known).toMatchObject([{ revisionId: 'new', quarantined: true }, { revisionId: 'other' }]);
    expect(released.known[1]?.quarantined).toBeUndefined();
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

  it('that needs a person says so until one ends well', () => {
    const stuck = result('release-1', { outcome: 'rollback_failed', instructions: 'do this' });
    const after = recordResult(seasoned(), stuck, HOUR);
    expect(after.needsPerson).toEqual({
      releaseId: 'release-1',
      since: stuck.endedAt,
      instructions: 'do this',
    });
    const aborted = recordResult(after, result('release-2', { outcome: 'aborted' }), HOUR);
    expect(aborted.needsPerson).toEqual(after.needsPerson);
    for (const outcome of ['released', 'rolled_back'] as const) {
      expect(recordResult(after, result('release-2', { outcome }), HOUR).needsPerson).toBeNull();
    }
  });

  it('with an endless reason keeps the beginning of it', () => {
    const state = recordResult(seasoned(), result('release-1', { reason: 'x'.repeat(50_000) }), HOUR);
    expect(state.history[0]?.reason).toHaveLength(1_000);
  });
});

describe('the settings for the way back', () => {
  const { spec: newest } = seasoned();

  it('are those that something ended well under', () => {
    const ended = result('release-1', { settingsWorked: true });
    const whole = { ...newest!, sourceConfig: { replicas: 2 }, secrets: [] };
    expect(keepSettings(seasoned(), ended, whole).lastGood).toEqual(newest);
  });

  it('stay what they were after anything else', () => {
    const before = seasoned({ lastGood: newest });
    expect(keepSettings(before, result('release-1', { outcome: 'rolled_back' }), null)).toBe(before);
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

  it('becomes that of the next rollback that a person asked for, where the one that set it changed nothing', () => {
    const failed = result('rollback-1', { outcome: 'failed', code: 'SLIPWAY_NOTHING_TO_RESTORE' });
    const next = { ...rollback('r2'), requestedBy: { who: 'cy', from: 'cli' } };
    const counter = { ...rollback('r3'), requestedBy: { who: 'slipway', from: 'watch' } };
    const both = { ...held, rollbacks: [waiting, counter, next] };
    expect(recordResult(both, failed, HOUR).hold).toEqual({
      since: 'then',
      by: next.requestedBy,
      requestId: 'r2',
    });
    expect(recordResult({ ...held, rollbacks: [waiting, counter] }, failed, HOUR).hold).toBeNull();
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
    const extras = [{ releaseId: 'release-0', revisionId: 'b', at: 'then', landedLate: true }];
    expect(recordResult({ ...known, extras }, found('b'), HOUR).drift).toBeNull();
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
  const served = { step: 'serving', restoring: false, startedAt: '', status: 'done' } as const;
  const stoppedFor = (requestId: string) =>
    ({ outcome: 'rolled_back', preemptedBy: rollback(requestId) }) as const;

  it.each<[string, Parameters<typeof result>, string[], string[]]>([
    [
      'a rollback settles the first, whatever came of it',
      ['rollback-2', { outcome: 'rollback_failed' }],
      ['first', 'second:x'],
      ['second:x'],
    ],
    [
      'a release that restored something settles one without a name',
      ['release-1', { outcome: 'rolled_back', servingRevisionId: 'old', steps: [tried] }],
      ['any'],
      [],
    ],
    [
      'and the one that stopped it, once its own revision served',
      ['release-1', { ...stoppedFor('any'), servingRevisionId: 'old', steps: [served, tried] }],
      ['any'],
      [],
    ],
    [
      'but not the one that stopped it while another revision served',
      ['release-1', { ...stoppedFor('any'), servingRevisionId: 'old', steps: [tried] }],
      ['any'],
      ['any'],
    ],
    [
      'and one to what it put back',
      ['release-1', { outcome: 'rolled_back', servingRevisionId: 'x' }],
      ['named:x', 'other:y'],
      ['other:y'],
    ],
    [
      'and one that it was stopped for and tried in vain',
      ['release-1', { ...stoppedFor('named'), servingRevisionId: 'old', steps: [tried] }],
      ['named:x'],
      [],
    ],
    [
      'but none that it was not stopped for and did not reach',
      ['release-1', { outcome: 'rolled_back', servingRevisionId: 'old', steps: [tried] }],
      ['named:x'],
      ['named:x'],
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
      'an aborted one that changed nothing settles only one to what serves',
      ['release-1', { outcome: 'aborted', servingRevisionId: 'y' }],
      ['any', 'named:x', 'other:y'],
      ['any', 'named:x'],
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

  it.each<[string, Parameters<typeof result>[1], string | undefined, boolean]>([
    ['where it does not serve any more', { servingRevisionId: 'b', outcome: 'failed' }, 'b', true],
    ['where a copy of it serves', { servingRevisionId: 'a2', outcome: 'failed' }, 'b', false],
    ['where nothing was changed', { servingRevisionId: 'a', outcome: 'aborted' }, 'b', false],
    [
      'where it was tried in vain',
      { ...stoppedFor('id'), servingRevisionId: 'a', steps: [tried] },
      'b',
      true,
    ],
    [
      'where nothing earlier is known',
      { ...stoppedFor('id'), servingRevisionId: 'a', steps: [tried] },
      undefined,
      false,
    ],
    ['where the release completed', { servingRevisionId: 'b', outcome: 'released' }, 'b', false],
  ])('settle one that says what it leaves %s', (_, changes, to, settles) => {
    const known = [verified('a'), { ...verified('a2'), copyOf: 'a' }, verified('b')];
    const asked = { ...rollback('id', to), from: 'a' };
    const { rollbacks } = recordResult(
      seasoned({ known, rollbacks: [asked] }),
      result('release-1', changes),
      HOUR,
    );
    expect(rollbacks).toEqual(settles ? [] : [asked]);
  });
});

describe('a revision that a person has left', () => {
  const known = [
    verified('a'),
    { ...verified('b'), quarantined: true as const },
    { ...verified('b2'), copyOf: 'b' },
  ];
  const left = (changes: Parameters<typeof result>[1], asked = rollback('id')): string[] =>
    recordResult(seasoned({ known, rollbacks: [asked] }), result('rollback-2', changes), HOUR)
      .known.filter(({ quarantined }) => quarantined === true)
      .map(({ revisionId }) => revisionId);

  it('stays left with its copies, whatever becomes known of it', () => {
    expect(left({ servingRevisionId: 'a' })).toEqual(['b', 'b2']);
    expect(left({ servingRevisionId: 'b', knownRevisions: [verified('b')] })).toEqual(['b', 'b2']);
    const copy = { ...verified('b3'), copyOf: 'b' };
    expect(left({ servingRevisionId: 'b3', knownRevisions: [copy] })).toEqual(['b', 'b2', 'b3']);
  });

  it('is trusted again once a person has gone back to it by name', () => {
    const copy = { ...verified('b3'), copyOf: 'b' };
    expect(left({ servingRevisionId: 'b3', knownRevisions: [copy] }, rollback('id', 'b'))).toEqual([]);
    expect(left({ servingRevisionId: 'a' }, rollback('id', 'b'))).toEqual(['b', 'b2']);
  });
});
