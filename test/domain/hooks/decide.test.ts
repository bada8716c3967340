import { describe, expect, it } from 'vitest';

import { acted, counted, decide, type HookSituation } from '../../../src/domain/hooks/decide.ts';
import type { HookFacts } from '../../../src/domain/hooks/hookEvent.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const REVISION = '11111111-1111-4111-8111-111111111111';
const COPY = '22222222-2222-4222-8222-222222222222';

const SERVING: NonNullable<HookFacts['serving']> = {
  revisionId: REVISION,
  copies: [REVISION, COPY],
  release: 'release-12',
  commit: 'c0ffee1234567890',
  artifact: `sha256:${'ab'.repeat(32)}`,
  releaseBegan: '2026-01-01T11:20:00.000Z',
  releasedAt: '2026-01-01T11:30:00.000Z',
};
const FACTS: HookFacts = { serving: SERVING, running: null, needsApproval: false };

function verdict(guards: HookSituation['guards'], changes: Partial<HookSituation> = {}) {
  return decide({
    do: 'rollback',
    guards,
    event: {},
    tally: { counted: [NOW] },
    isAsking: false,
    facts: FACTS,
    now: NOW,
    ...changes,
  });
}

describe('a rule', () => {
  it('acts without the target’s facts if no guard needs them', () => {
    expect(verdict({}, { facts: undefined })).toEqual({ kind: 'act' });
    expect(verdict({ youngerThanMs: 1 }, { facts: undefined })).toEqual({ kind: 'look' });
  });

  it('acts at most once in its time', () => {
    const guards = { atMostOncePerMs: HOUR_MS };
    const tally = acted(NOW - 20 * MINUTE_MS);
    expect(verdict(guards, { tally })).toEqual({
      kind: 'not_met',
      note: 'the rule acted 20m00s ago: at most once per 1h00m',
    });
    expect(verdict(guards, { tally: acted(NOW - HOUR_MS) })).toMatchObject({ kind: 'act' });
  });

  it('acts at the n-th event within its time, and starts to count again', () => {
    const guards = { atLeast: { count: 3, withinMs: HOUR_MS } };
    const at = (minutes: number) => NOW - minutes * MINUTE_MS;
    let tally = counted(counted({ counted: [] }, guards, at(70)), guards, at(50));
    tally = counted(tally, guards, at(5));
    expect(verdict(guards, { tally })).toMatchObject({ note: 'event 2 of 3 within 1h00m' });
    tally = counted(tally, guards, NOW);
    expect(verdict(guards, { tally })).toMatchObject({ kind: 'act' });
    expect(verdict(guards, { tally: counted(acted(NOW), guards, NOW) })).toMatchObject({ kind: 'not_met' });
    // No more are kept than the rule counts.
    expect(counted(counted(tally, guards, NOW), guards, NOW).counted).toHaveLength(3);
  });

  it.each([
    ['a young release', {}, undefined],
    ['an event that began after the release did', { event: { began: '2026-01-01T11:25:00Z' } }, undefined],
    [
      'an event that began before',
      { event: { began: '2026-01-01T11:10:00Z' } },
      'the event began before release-12',
    ],
    ['an old release', { now: NOW + HOUR_MS }, 'release-12 was released 1h30m ago: longer than 1h00m'],
    ['nothing known', { facts: { ...FACTS, serving: null } }, 'the target does not know what serves'],
    [
      'a revision made elsewhere',
      { facts: { ...FACTS, serving: { ...SERVING, release: null } } },
      'the target does not know when what serves was released',
    ],
  ])('checks how old the release is: %s', (_, changes, note) => {
    const found = verdict({ youngerThanMs: HOUR_MS }, changes);
    if (note === undefined) expect(found.kind).toBe('act');
    else expect(found).toEqual({ kind: 'not_met', note });
  });

  const OWN = '33333333-3333-4333-8333-333333333333';

  function during(stage: NonNullable<HookFacts['running']>['stage']): HookFacts {
    const startedAt = '2026-01-01T11:59:00Z';
    return {
      ...FACTS,
      running: {
        ...{ releaseId: 'release-13', kind: 'release', revisionId: OWN, startedAt, stage },
        ...{ commit: 'deadbeef00000000', artifact: `sha256:${'cd'.repeat(32)}` },
      },
    };
  }

  it('treats a running release that serves as young, unless the event began before it', () => {
    const facts = during('serves');
    const guards = { youngerThanMs: 1 };
    expect(verdict(guards, { facts })).toEqual({ kind: 'act', serving: OWN, running: 'release-13' });
    expect(verdict(guards, { facts, event: { began: '2026-01-01T11:58:00Z' } })).toMatchObject({
      note: 'the event began before release-13, which runs',
    });
  });

  it('rolls back what served before a running release only if its own guards are met', () => {
    const facts = during('before');
    const old = { kind: 'not_met', note: 'release-12 was released 30m00s ago: longer than 1ms' };
    expect(verdict({ youngerThanMs: 1 }, { facts })).toEqual(old);
    expect(verdict({ revision: OWN }, { facts })).toEqual({
      kind: 'not_met',
      note: `"${OWN}" does not serve`,
    });
    expect(verdict({ revision: REVISION }, { facts })).toMatchObject({ kind: 'act', serving: REVISION });
  });

  it.each([OWN, 'release-13', 'deadbeef', 'cdcdcdc'])(
    'recognizes the revision of a running release that serves by the name %s',
    (revision) => {
      expect(verdict({ revision }, { facts: during('serves') })).toMatchObject({ kind: 'act', serving: OWN });
    },
  );

  it('does not roll a running release that serves back for an event about what served before', () => {
    for (const revision of [REVISION, 'c0ffee1'])
      expect(verdict({ revision }, { facts: during('serves') })).toEqual({
        kind: 'not_met',
        note: `"${revision}" does not serve`,
      });
  });

  it('aborts a running release that does not serve yet', () => {
    const abort = { do: 'abort', facts: during('before') } as const;
    expect(verdict({ youngerThanMs: 1 }, abort)).toMatchObject({ kind: 'act', running: 'release-13' });
    for (const revision of [OWN, 'deadbeef'])
      expect(verdict({ revision }, abort)).toMatchObject({ kind: 'act', running: 'release-13' });
  });

  it('does not say which revision serves while one is restored', () => {
    expect(verdict({ youngerThanMs: 1 }, { facts: during('unknown') })).toEqual({
      kind: 'act',
      serving: undefined,
      running: 'release-13',
    });
  });

  it.each([
    REVISION,
    COPY.toUpperCase(),
    '1111111',
    'release-12',
    'c0ffee1',
    'abababa',
    `sha256:${'ab'.repeat(32)}`,
  ])('recognizes the serving revision by the name %s', (revision) => {
    expect(verdict({ revision })).toEqual({ kind: 'act', serving: REVISION });
  });

  it.each(['release-1', 'c0ffee', '33333333-3333-4333-8333-333333333333'])(
    'does not recognize it by %s',
    (revision) => {
      expect(verdict({ revision })).toEqual({ kind: 'not_met', note: `"${revision}" does not serve` });
    },
  );

  it('does not act on a revision that the event does not name', () => {
    expect(verdict({ revision: null })).toMatchObject({ note: 'the event does not name the revision' });
  });

  it('requests approval during the hours, one request at a time', () => {
    const approval = { from: '22:00', until: '07:00', timeZone: 'UTC', withinMs: HOUR_MS };
    expect(verdict({ approval })).toMatchObject({ kind: 'act' });
    expect(verdict({ approval }, { facts: { ...FACTS, needsApproval: true } })).toEqual({
      kind: 'ask',
      untilMs: NOW + HOUR_MS,
      note: 'a person must approve from 22:00 until 07:00 (UTC)',
      serving: REVISION,
    });
    expect(verdict({ approval }, { isAsking: true })).toMatchObject({
      note: 'an earlier event waits for approval',
    });
  });

  it.each([
    ['rollback', during('unknown'), 'while release-13 runs, it is not known what serves'],
    ['rollback', { ...FACTS, serving: null }, 'the target does not know what serves'],
    ['abort', FACTS, 'no release runs'],
  ] as const)('requests no approval for a %s that could concern something later', (action, facts, note) => {
    const approval = { from: '22:00', until: '07:00', timeZone: 'UTC', withinMs: HOUR_MS };
    const changes = { do: action, facts: { ...facts, needsApproval: true } };
    expect(verdict({ approval }, changes)).toEqual({ kind: 'not_met', note });
  });
});
