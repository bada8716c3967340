import { describe, expect, it } from 'vitest';

import type { ReleaseResult } from '../../../src/domain/release/release.ts';
import { requestRollback } from '../../../src/domain/rollback/targetRollback.ts';
import { keepSettings, recordResult } from '../../../src/domain/target/targetResult.ts';
import type { TargetState } from '../../../src/domain/target/targetState.ts';
import { ADA, NOW, request, result, rollback, seasoned, verified } from './targets.ts';

type Ending = Partial<ReleaseResult>;

function after(state: TargetState, ending: Ending, id = 'release-1'): TargetState {
  return recordResult(state, result(id, ending), 3_600_000);
}

describe('a result', () => {
  it('becomes a row, what serves, and the known revisions', () => {
    const state = after(seasoned({ known: [verified('old')] }), { knownRevisions: [verified('new')] });
    expect(state.history).toMatchObject([{ releaseId: 'release-1', outcome: 'released', revisionId: 'new' }]);
    expect(state.activeRevisionId).toBe('new');
    expect(state.known.map(({ revisionId }) => revisionId)).toEqual(['old', 'new']);
  });

  it('becomes a row with its times: the commit’s, its beginning, its restore', () => {
    const serving = {
      step: 'serving',
      restoring: true,
      status: 'done',
      startedAt: NOW,
      endedAt: NOW,
    } as const;
    const ending = {
      outcome: 'rolled_back',
      committedAt: '2025-12-31T00:00:00.000Z',
      steps: [serving],
    } as const;
    const [row] = after(seasoned(), ending).history;
    expect(row).toMatchObject({ startedAt: NOW, committedAt: ending.committedAt });
    expect(row?.restore).toEqual({ since: NOW, servedAt: NOW });
  });

  it('marks a revision as quarantined if its artifact was quarantined during the release', () => {
    const artifact = 'sha256:x';
    const knownRevisions = [{ ...verified('new'), artifact }, verified('other')];
    const { known } = after(seasoned({ quarantined: [{ artifact, since: NOW, by: ADA }] }), {
      knownRevisions,
    });
    expect(known.map(({ quarantined }) => quarantined)).toEqual([true, undefined]);
  });

  it('keeps the order in which revisions were first known, with the newest verdict on each', () => {
    const knownRevisions = [{ ...verified('b'), verified: false }, verified('d')];
    const { known } = after(seasoned({ known: ['a', 'b', 'c'].map(verified) }), { knownRevisions });
    const told = known.map(({ revisionId, verified: good }) => `${revisionId}${good ? '' : '?'}`);
    expect(told).toEqual(['a', 'b?', 'c', 'd']);
  });

  it.each([
    ['errored', null],
    ['rollback_failed', null],
    ['failed', 'old'],
    ['aborted', 'old'],
  ] as const)('that ended %s without knowing what serves makes %s the assumed one', (outcome, serves) => {
    const before = seasoned({ activeRevisionId: 'old' });
    expect(after(before, { outcome, servingRevisionId: null }).activeRevisionId).toBe(serves);
  });

  it('of a rollback that changed nothing does not accept a late revision as what serves', () => {
    const late = [{ revisionId: 'late', deploymentId: 'deployment', restoreTo: 'old', until: NOW }];
    const before = seasoned({ activeRevisionId: 'old', late });
    const state = after(before, { outcome: 'rolled_back', servingRevisionId: 'late' }, 'rollback-1');
    expect(state).toMatchObject({ activeRevisionId: 'old', late });
  });

  it('of another deployment that slipway.yaml names ends the use of the settings for the one before', () => {
    const lastGood = { ...request('last').target, deploymentId: 'deployment' };
    const before = seasoned({ lastGood, owns: 'deployment' });
    expect(after(before, { outcome: 'failed' }).lastGood).toEqual(lastGood);
    expect(after(before, { outcome: 'failed', deploymentId: null }).lastGood).toEqual(lastGood);
    expect(after(before, { outcome: 'failed', deploymentId: 'another' }).lastGood).toBeNull();
  });

  it('of a rollback also settles those after it by which people named what serves', () => {
    const chosen = { ...rollback('chosen', 'old'), from: 'new' };
    const rollbacks = [chosen, rollback('named', 'old'), rollback('other', 'older'), rollback('last', 'old')];
    const before = seasoned({ known: ['older', 'old', 'new'].map(verified), rollbacks });
    const settled = (ending: Ending) => after(before, ending, 'rollback-4').history[0]?.rollbackRequestIds;
    const ending = { outcome: 'rolled_back', servingRevisionId: 'old' } as const;
    expect(settled(ending)).toEqual(['chosen', 'named']);
    expect(settled({ ...ending, servingRevisionId: 'older' })).toEqual(['chosen']);
    expect(settled({ ...ending, outcome: 'errored' })).toEqual(['chosen']);
  });

  it('that needs a person is kept until a release ends well', () => {
    const stuck = after(seasoned(), { outcome: 'rollback_failed', instructions: 'do this' });
    expect(stuck.needsPerson).toEqual({ releaseId: 'release-1', since: NOW, instructions: 'do this' });
    expect(after(stuck, { outcome: 'aborted' }).needsPerson).toEqual(stuck.needsPerson);
    const redeployed = { step: 'redeploy', restoring: true, startedAt: NOW, status: 'done' } as const;
    const restored = { outcome: 'aborted', servingVerified: true, steps: [redeployed] } as const;
    expect(after(stuck, restored).needsPerson).toBeNull();
    expect(after(stuck, { ...restored, servingVerified: false }).needsPerson).toEqual(stuck.needsPerson);
    expect(after(stuck, { outcome: 'released' }).needsPerson).toBeNull();
    expect(after(stuck, { outcome: 'rolled_back' }).needsPerson).toBeNull();
  });

  it('with an endless reason keeps its beginning', () => {
    expect(after(seasoned(), { reason: 'x'.repeat(50_000) }).history[0]?.reason).toHaveLength(1_000);
  });
});

it('the settings for a restore are the last ones that worked', () => {
  const { spec: newest } = seasoned();
  const whole = { ...newest!, sourceConfig: { replicas: 2 }, secrets: [] };
  const worked = result('release-1', { settingsWorked: true });
  expect(keepSettings(seasoned(), worked, whole).lastGood).toEqual(newest);
  const before = seasoned({ lastGood: newest });
  expect(keepSettings(before, result('release-1', { outcome: 'rolled_back' }), null)).toBe(before);
});

describe('a hold', () => {
  const waiting = rollback('r1');
  const hold = { since: 'then', by: waiting.requestedBy, requestId: 'r1' };
  const held = seasoned({ rollbacks: [waiting], hold });
  const failed = { outcome: 'failed', code: 'SLIPWAY_NOTHING_TO_RESTORE' } as const;

  it('ends with the rollback that set it and changed nothing', () => {
    expect(after(held, failed, 'rollback-1').hold).toBeNull();
  });

  it('becomes that of the next requested rollback, if the one that set it changed nothing', () => {
    const next = { ...rollback('r2'), requestedBy: { who: 'cy', from: 'cli' } };
    const counter = { ...rollback('r3'), hold: false as const };
    const both = { ...held, rollbacks: [waiting, counter, next] };
    const expected = { since: 'then', by: next.requestedBy, requestId: 'r2' };
    expect(after(both, failed, 'rollback-1').hold).toEqual(expected);
    const unheld = { ...next, hold: false as const };
    expect(after({ ...held, rollbacks: [waiting, counter, unheld] }, failed, 'rollback-1').hold).toBeNull();
  });

  it.each<[string, Ending, TargetState['hold']]>([
    ['after a rollback that ended rolled_back', { outcome: 'rolled_back' }, hold],
    ['after a rollback that ended rollback_failed', { outcome: 'rollback_failed' }, hold],
    ['that a person set', failed, { since: 'then', by: waiting.requestedBy }],
    ['that an earlier rollback set', failed, { ...hold, requestId: 'r0' }],
  ])('stays %s', (_, ending, before) => {
    expect(after({ ...held, hold: before }, ending, 'rollback-1').hold).toBe(before);
  });
});

describe('a drift', () => {
  const known = seasoned({ activeRevisionId: 'a' });
  const drift = (state: TargetState, revisionId: string | null) =>
    after(state, { baseline: { revisionId, verified: false } }).drift;

  it('is recorded if another revision served than the known one, until a release finds the expected one', () => {
    expect(drift(known, 'b')).toMatchObject({ expected: 'a', found: 'b' });
    expect(drift(known, null)).toMatchObject({ expected: 'a', found: null });
    const drifted = { ...known, drift: { at: 'then', expected: 'z', found: 'b' } };
    expect(drift(drifted, 'a')).toBeNull();
  });

  it('is none if the serving one was unknown or not read, or a late revision of ours became active', () => {
    expect(drift(seasoned(), 'b')).toBeNull();
    expect(after(known, {}).drift).toBeNull();
    const late = [{ revisionId: 'b', deploymentId: 'd', restoreTo: 'a', until: 'then' }];
    expect(drift({ ...known, late }, 'b')).toBeNull();
    const extras = [{ releaseId: 'release-0', revisionId: 'b', at: 'then', landedLate: true }];
    expect(drift({ ...known, extras }, 'b')).toBeNull();
  });
});

describe('the rollbacks that a result settles', () => {
  const redeployed = { step: 'redeploy', restoring: true, startedAt: '', status: 'failed' } as const;
  const served = { step: 'serving', restoring: false, startedAt: '', status: 'done' } as const;
  /** It tried to restore a revision, and `old` serves. */
  const tried: Ending = { outcome: 'rolled_back', servingRevisionId: 'old', steps: [redeployed] };
  const stoppedFor = (requestId: string): Ending => ({ ...tried, preemptedBy: rollback(requestId) });
  const NONE = { outcome: 'errored', servingRevisionId: null } as const;
  const ABORTED = { outcome: 'aborted', servingRevisionId: 'y' } as const;

  it.each<[string, Ending, string[], string[], string?]>([
    ['of a rollback are the first', { outcome: 'rollback_failed' }, ['a', 'b:x'], ['b:x'], 'rollback-2'],
    ['of a release that restored include one without a name', tried, ['any'], []],
    [
      'include its stop once its revision served',
      { ...stoppedFor('any'), steps: [served, redeployed] },
      ['any'],
      [],
    ],
    ['do not include its stop while another revision served', stoppedFor('any'), ['any'], ['any']],
    [
      'include one to what it put back',
      { ...tried, servingRevisionId: 'x', steps: [] },
      ['a:x', 'b:y'],
      ['b:y'],
    ],
    ['include one that it was stopped for and tried in vain', stoppedFor('a'), ['a:x'], []],
    ['are none that it was not stopped for and did not reach', tried, ['a:x'], ['a:x']],
    ['are none that came when it was released', {}, ['any', 'a:new'], ['any', 'a:new']],
    ['include one to its own revision', { servingRevisionId: 'new' }, ['a:new', 'any'], ['any']],
    ['are none where it ended without a word', NONE, ['any'], ['any']],
    ['where it changed nothing include one to what serves', ABORTED, ['a:y', 'b:x'], ['b:x']],
    [
      'do not include one that comes after another, which runs first',
      ABORTED,
      ['a:x', 'b:y'],
      ['a:x', 'b:y'],
    ],
  ])('%s', (_, ending, waiting, left, id) => {
    const rollbacks = waiting.map((text) => rollback(text.split(':')[0]!, text.split(':')[1]));
    const state = after(seasoned({ rollbacks }), ending, id);
    const shown = state.rollbacks.map(({ requestId, to }) =>
      to === undefined ? requestId : `${requestId}:${to}`,
    );
    expect(shown).toEqual(left);
    const settled = waiting.filter((text) => !left.includes(text)).map((text) => text.split(':')[0]);
    expect(state.history.at(-1)?.rollbackRequestIds).toEqual(settled);
  });

  it.each<[string, Ending, string | undefined, boolean]>([
    ['where it does not serve any more', { servingRevisionId: 'b', outcome: 'failed' }, 'b', true],
    ['where a copy of it serves', { servingRevisionId: 'a2', outcome: 'failed' }, 'b', false],
    ['where nothing was changed', { servingRevisionId: 'a', outcome: 'aborted' }, 'b', false],
    ['where it was tried in vain', { ...stoppedFor('id'), servingRevisionId: 'a' }, 'b', true],
    ['where nothing earlier is known', { ...stoppedFor('id'), servingRevisionId: 'a' }, undefined, false],
    ['where the release completed', { servingRevisionId: 'b', outcome: 'released' }, 'b', false],
  ])('include one that leaves %s', (_, ending, to, settles) => {
    const known = [verified('a'), { ...verified('a2'), copyOf: 'a' }, verified('b')];
    const asked = { ...rollback('id', to), from: 'a' };
    const { rollbacks } = after(seasoned({ known, rollbacks: [asked] }), ending);
    expect(rollbacks).toEqual(settles ? [] : [asked]);
  });
});

describe('a revision that a person rolled back from', () => {
  const b = { ...verified('b'), quarantined: true as const };
  const known = [verified('a'), b, { ...verified('b2'), copyOf: 'b' }];
  const left = (ending: Ending, asked = rollback('id')): string[] =>
    after(seasoned({ known, rollbacks: [asked] }), ending, 'rollback-2')
      .known.filter(({ quarantined }) => quarantined === true)
      .map(({ revisionId }) => revisionId);

  it('stays marked with its copies, whatever is learned about it', () => {
    expect(left({ servingRevisionId: 'a' })).toEqual(['b', 'b2']);
    expect(left({ servingRevisionId: 'b', knownRevisions: [verified('b')] })).toEqual(['b', 'b2']);
    const copy = { ...verified('b3'), copyOf: 'b' };
    expect(left({ servingRevisionId: 'b3', knownRevisions: [copy] })).toEqual(['b', 'b2', 'b3']);
  });

  it('is trusted again after a person has rolled back to it by name', () => {
    const copy = { ...verified('b3'), copyOf: 'b' };
    expect(left({ servingRevisionId: 'b3', knownRevisions: [copy] }, rollback('id', 'b'))).toEqual([]);
    expect(left({ servingRevisionId: 'a' }, rollback('id', 'b'))).toEqual(['b', 'b2']);
  });
});

describe('a rollback after a hundred setbacks', () => {
  /** The revision that an unnamed rollback restores. */
  const restores = (state: TargetState): string | undefined =>
    requestRollback({ state, running: null, now: NOW, active: state.activeRevisionId }, rollback('last'))
      .state.rollbacks[0]?.to;
  const setbacks = (state: TargetState, ending: (each: number) => Ending): TargetState =>
    Array.from({ length: 100 }).reduce<TargetState>((so, _, each) => after(so, ending(each)), state);
  const start = seasoned({
    known: [verified('a'), { ...verified('b'), replaced: 'a' }],
    activeRevisionId: 'b',
  });

  it('finds the verified revision before, although each of them restored a copy of what serves', () => {
    const state = setbacks(start, (each) => {
      const copy = { ...verified(`b-${each}`), replaced: 'a', copyOf: 'b' };
      return { outcome: 'rolled_back', servingRevisionId: copy.revisionId, knownRevisions: [copy] };
    });
    expect(restores(state)).toBe('a');
  });

  it('finds the last verified revision, although people have left that many since', () => {
    const state = setbacks(start, (each) => {
      const left = { ...verified(`left-${each}`), replaced: 'b', quarantined: true as const };
      return { outcome: 'rolled_back', servingRevisionId: 'b', knownRevisions: [left] };
    });
    const known = [...state.known, { ...verified('new'), replaced: 'b' }];
    expect(restores({ ...state, known, activeRevisionId: 'new' })).toBe('b');
    expect(restores(state)).toBe('a');
  });

  it('still knows what serves, although it is not verified', () => {
    const state = setbacks(start, () => ({}));
    const known = [{ ...verified('new'), verified: false, skipped: true as const }];
    const full = Array.from({ length: 100 }, (_, each) => verified(`v-${each}`));
    const { known: kept } = after(state, { knownRevisions: [...full, ...known] });
    expect(kept.at(-1)).toEqual(known[0]);
    expect(kept).toHaveLength(50);
  });
});
