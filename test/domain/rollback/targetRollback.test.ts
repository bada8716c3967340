import { describe, expect, it } from 'vitest';

import { preemptGuard } from '../../../src/domain/guard/guarding.ts';
import type { KnownRevision, RollbackRequest } from '../../../src/domain/release/release.ts';
import {
  dependsOnWhatServes,
  firstAnswer,
  keepAnswer,
  requestRollback,
} from '../../../src/domain/rollback/targetRollback.ts';
import { counterLateRevision } from '../../../src/domain/target/lateRevisions.ts';
import { submitRelease } from '../../../src/domain/target/targetQueue.ts';
import { recordResult } from '../../../src/domain/target/targetResult.ts';
import { EMPTY_TARGET, type Running, type TargetState } from '../../../src/domain/target/targetState.ts';
import { ADA, NOW, request, result, rollback, runs, seasoned, verified } from '../target/targets.ts';

const HOLD = { since: NOW, by: ADA };
const RELEASE = runs('release-3');
const ROLLBACK = runs('rollback-3');
const LATER = '2026-01-01T00:00:59.999Z';
const MINUTE_LATER = '2026-01-01T00:01:00.000Z';

/** R0, R1 and R2 of three releases, of which the last serves; `R1'` is a copy of R1. */
const KNOWN: readonly KnownRevision[] = [0, 1, 2].map((number) => ({
  ...verified(`R${number}`),
  release: `release-${number}`,
}));
const COPY: KnownRevision = { ...verified("R1'"), release: 'release-1', copyOf: 'R1' };

function serving(changes: Partial<TargetState> = {}): TargetState {
  return seasoned({ known: KNOWN, activeRevisionId: 'R2', ...changes });
}

/** A rollback without a named revision. It may say which revision it leaves. */
function leaving(from?: string, requestId = 'id'): RollbackRequest {
  return { ...rollback(requestId), from };
}

/** A target whose last release has just restored a revision. */
function restored(servingRevisionId: string): TargetState {
  const redeployed = { step: 'redeploy', restoring: true, startedAt: NOW, status: 'done' } as const;
  const ending = { outcome: 'rolled_back', servingRevisionId, steps: [redeployed] } as const;
  return recordResult(serving(), result('release-3', ending), 0);
}

function ask(state: TargetState, asked: RollbackRequest, active?: string | null) {
  return requestRollback({ state, running: null, now: NOW, active }, asked);
}

/** The result of a request, in one line. */
function took(
  state: TargetState,
  running: Running | null,
  asked: RollbackRequest,
  active?: string | null,
  now = NOW,
): string {
  const taken = requestRollback({ state, running, now, active }, asked);
  const { disposition, requestId, serves } = taken.answer;
  const { preempt } = taken;
  const preempts = preempt && (preempt.goesOn === true ? ', release goes on' : ', release stops');
  const followed = requestId === asked.requestId ? '' : ` ${requestId}`;
  return `${disposition}${followed}: ${serves?.revisionId ?? '?'}${preempts ?? ''}`;
}

/** The revisions that are restored only by name. */
function left(state: TargetState): string[] {
  return state.known.filter(({ quarantined }) => quarantined === true).map(({ revisionId }) => revisionId);
}

describe('a rollback to a named revision', () => {
  const another = (other: RollbackRequest) => serving({ rollbacks: [other] });

  it.each<[string, TargetState, Running | null, string]>([
    ['on a new target', EMPTY_TARGET, null, 'ignored: ?'],
    ['while a release runs', serving(), RELEASE, 'preempting: R1, release stops'],
    ['on an idle target', serving(), null, 'queued: R1'],
    ['on hold', serving({ hold: HOLD }), null, 'queued: R1'],
    ['while the same waits', another(rollback('r', 'R1')), null, 'joined r: R1'],
    ['to which the target goes itself', another({ ...leaving('R2', 'r'), to: 'R1' }), ROLLBACK, 'queued: R1'],
    ['while one without a name runs', another(leaving('R2', 'r')), ROLLBACK, 'queued: R1'],
    ['to what serves', serving({ activeRevisionId: 'R1' }), null, 'queued: R1'],
  ])('%s is handled correctly', (_, state, running, expected) => {
    expect(took(state, running, rollback('id', 'R1'))).toBe(expected);
  });

  it('that only a promotion has named goes to an earlier revision, if a person has rolled back from that one', () => {
    const asked = { ...leaving('R2'), to: 'R1' };
    expect(took(serving(), null, asked)).toBe('queued: R1');
    const [R0, R1, R2] = KNOWN as [KnownRevision, KnownRevision, KnownRevision];
    const known = [R0, { ...R1, quarantined: true as const }, R2];
    expect(took(serving({ known }), null, asked)).toBe('queued: R0');
    expect(took(serving({ known }), null, rollback('id', 'R1'))).toBe('queued: R1');
  });

  it('that a promotion asks for after a later release leaves that release in place, without a hold', () => {
    const asked = { ...leaving('R1'), to: 'R0' };
    expect(took(serving(), null, asked)).toBe('done: R2');
    expect(ask(serving(), asked).state.hold).toBeNull();
    expect(took(serving(), null, { ...leaving('R2'), to: 'R0' })).toBe('queued: R0');
  });

  it('does not need to know what serves', () => {
    expect(dependsOnWhatServes({ state: serving(), running: null }, rollback('id', 'R1'))).toBe(false);
  });
});

describe('a rollback that names what it leaves', () => {
  const first = serving({ rollbacks: [{ ...leaving('R2', 'r'), to: 'R1' }] });
  const copied = serving({ known: [...KNOWN, COPY] });
  const restoring = { ...RELEASE, restores: 'R2' };
  const stops = (to: string): string => `preempting: ${to}, release stops`;

  it.each<[string, TargetState, Running | null, string, string | null | undefined, string]>([
    ['which serves', serving(), null, 'R2', 'R2', 'queued: R1'],
    ['where nothing serves', serving(), null, 'R2', null, 'queued: R1'],
    ['the revision of the release that runs', serving(), RELEASE, 'R3', 'R3', stops('R2')],
    ['which does not serve any more', serving(), null, 'R2', 'R1', 'done: R1'],
    ['which a running release has replaced', serving(), RELEASE, 'R2', 'R3', 'done: R3, release goes on'],
    ['which another leaves already', first, ROLLBACK, 'R2', 'R2', 'joined r: R1'],
    ['what another restores', first, ROLLBACK, 'R1', 'R1', 'queued: R0'],
    ['what another is about to restore', first, ROLLBACK, 'R1', 'R2', 'queued: R0'],
    ['while a release restores', serving(), restoring, 'R2', 'R2', stops('R1')],
    ['the only good one', serving({ known: KNOWN.slice(2) }), null, 'R2', 'R2', 'queued: ?'],
    ['a copy', copied, null, "R1'", "R1'", 'queued: R0'],
    ['the original of the copy that serves', copied, null, 'R1', "R1'", 'queued: R0'],
    ['just after a restore', restored('R2'), null, 'R2', 'R2', 'queued: R1'],
  ])('%s is handled correctly', (_, state, running, from, active, expected) => {
    expect(took(state, running, leaving(from), active)).toBe(expected);
  });

  it.each<[string, TargetState, string, string, string[]]>([
    ['is marked', serving(), 'R2', 'R2', ['R2']],
    ['is marked with its copies', copied, "R1'", "R1'", ['R1', "R1'"]],
    ['is marked where the target did not know it', serving(), 'X', 'X', ['X']],
  ])('%s at once', (_, state, from, active, marked) => {
    expect(left(ask(state, leaving(from), active).state)).toEqual(marked);
  });

  it('holds the target, even if that revision no longer serves, and rejects waiting releases', () => {
    const waiting = submitRelease(serving(), RELEASE, request('key'), NOW).state;
    for (const active of ['R2', 'R1']) {
      const { state } = ask(waiting, leaving('R2'), active);
      expect(state).toMatchObject({ hold: { requestId: 'id' }, queue: [] });
    }
  });

  it('that counts only while that revision serves, changes nothing once another one serves', () => {
    const asked: RollbackRequest = { ...leaving('R2'), ifServing: true };
    expect(took(serving(), null, asked, 'R2')).toBe('queued: R1');
    expect(took(serving(), RELEASE, asked, undefined)).toBe(stops('R1'));
    const replaced: [TargetState, Running | null, string | undefined, string][] = [
      [serving(), null, 'R1', 'R1'],
      [serving(), RELEASE, 'R3', 'R3'],
      [serving({ activeRevisionId: 'R1' }), null, undefined, 'R1'],
    ];
    for (const [state, running, active, serves] of replaced) {
      const taken = requestRollback({ state, running, now: NOW, active }, asked);
      expect(taken.answer).toMatchObject({
        disposition: 'ignored',
        reason: expect.stringContaining('revision R2 does not serve any more') as string,
        serves: { revisionId: serves },
        onHold: false,
      });
      expect([taken.state, taken.preempt]).toEqual([state, undefined]);
    }
  });

  it('is sent to the running release, with the destination', () => {
    const situation = { state: serving(), running: RELEASE, now: NOW, active: 'R2' };
    const taken = requestRollback(situation, leaving('R2'));
    expect(taken.preempt).toMatchObject({ requestId: 'id', from: 'R2', to: 'R1' });
    expect(taken.state.rollbacks).toEqual([taken.preempt]);
  });
});

describe('a rollback that names neither', () => {
  const joining = serving({ rollbacks: [rollback('r', 'R0')] });
  const restoring = { ...RELEASE, restores: 'R1' };
  const after = restored('R1');

  it.each<[string, TargetState, Running | null, string | null | undefined, string, string]>([
    ['leaves what serves', serving(), null, 'R2', NOW, 'queued: R1'],
    ['leaves what the target believes, unless told', serving(), null, undefined, NOW, 'queued: R1'],
    [
      'leaves it to a release, unless told',
      serving(),
      RELEASE,
      undefined,
      NOW,
      'preempting: ?, release stops',
    ],
    ['joins a rollback', joining, ROLLBACK, undefined, NOW, 'joined r: R0'],
    ['joins a restore', serving(), restoring, undefined, NOW, 'joined release-3: R1'],
    ['changes nothing after a restore', after, null, 'R1', LATER, 'done: R1'],
    ['changes nothing after a restore, unseen', after, null, undefined, LATER, 'done: R1'],
    ['changes nothing while another release begins', after, RELEASE, 'R1', LATER, 'done: R1'],
    ['leaves it a minute after that', after, null, 'R1', MINUTE_LATER, 'queued: R0'],
    ['leaves what has replaced it', after, null, 'R2', LATER, 'queued: R1'],
  ])('%s', (_, state, running, active, now, expected) => {
    expect(took(state, running, leaving(), active, now)).toBe(expected);
  });

  it('that changes nothing sets no hold, rejects nothing and marks nothing', () => {
    const state = submitRelease(after, null, request('a'), NOW).state;
    const taken = requestRollback({ state, running: null, now: LATER, active: 'R1' }, leaving());
    expect(taken.state).toEqual({ ...state, seenRequestIds: ['id'] });
    expect(taken.answer.onHold).toBe(false);
  });

  it('needs to know what serves, unless work in progress decides it', () => {
    const asks = (state: TargetState, running: Running | null): boolean =>
      dependsOnWhatServes({ state, running }, leaving());
    expect([asks(serving(), null), asks(serving(), RELEASE)]).toEqual([true, true]);
    expect([asks(joining, ROLLBACK), asks(serving(), restoring)]).toEqual([false, false]);
  });
});

describe('an accepted rollback', () => {
  it('rejects waiting releases with the requester and the reason, and holds the target', () => {
    const waiting = submitRelease(serving(), runs('release-0'), request('a'), NOW).state;
    const situation = { state: waiting, running: runs('release-0'), now: NOW };
    const reason = 'rejected by a manual rollback, by ada: a reason';
    expect(requestRollback(situation, rollback('id')).state).toMatchObject({
      queue: [],
      hold: { ...HOLD, requestId: 'id' },
      history: [{ outcome: 'rejected', reason }],
    });
  });

  it('holds the target also if it joins one that does not', () => {
    const first = ask(serving(), { ...leaving('R2', 'guards'), hold: false }, 'R2').state;
    expect(first.hold).toBeNull();
    const waiting = submitRelease(first, null, request('a'), NOW).state;
    const joined = ask(waiting, { ...leaving('R2', 'hooks'), hold: false }, 'R2').state;
    expect(joined).toMatchObject({ hold: null, queue: waiting.queue });
    const { answer, state } = ask(waiting, leaving('R2'), 'R2');
    expect(answer).toMatchObject({ disposition: 'joined', requestId: 'guards', onHold: true });
    expect(state).toMatchObject({ queue: [], hold: { by: ADA, requestId: 'guards' } });
    expect(state.seenRequestIds).toEqual(['guards', 'id']);
  });

  it('holds the target also if a person has ended the hold of the one that it joins', () => {
    const first = ask(serving(), leaving('R2', 'first'), 'R2').state;
    const waiting = submitRelease({ ...first, hold: null }, ROLLBACK, request('a'), NOW).state;
    const situation = { state: waiting, running: ROLLBACK, now: NOW, active: 'R2' };
    const { answer, state } = requestRollback(situation, leaving('R2'));
    expect(answer).toMatchObject({ disposition: 'joined', onHold: true });
    expect(state).toMatchObject({ queue: [], hold: { by: ADA, requestId: 'first' } });
  });

  it('holds the target also while Slipway counters a late revision with the same one', () => {
    const late = { revisionId: 'late', deploymentId: 'd', restoreTo: 'R1', until: NOW };
    const state = counterLateRevision(serving({ late: [late], activeRevisionId: 'R1' }), late, 'counters');
    expect(state.hold).toBeNull();
    const { answer, state: joined } = ask(state, rollback('id', 'R1'));
    expect(answer).toMatchObject({ disposition: 'queued', onHold: true });
    expect(joined.hold).toMatchObject({ by: ADA });
  });

  it('without a hold bars what it leaves, with its copies, from promotions', () => {
    const copied = serving({ known: [...KNOWN, { ...COPY, copyOf: 'R2' }] });
    const barred = (asked: RollbackRequest): string[] =>
      ask(copied, asked, 'R2').state.known.flatMap((one) => (one.barred === true ? [one.revisionId] : []));
    expect(barred({ ...leaving('R2'), hold: false })).toEqual(['R2', "R1'"]);
    expect(barred(leaving('R2'))).toEqual([]);
  });

  it('keeps the reason of an earlier hold', () => {
    const hold = { since: 'before', by: { who: 'bo', from: 'cli' } };
    expect(ask(serving({ hold }), rollback('id', 'R1')).state.hold).toEqual(hold);
  });

  it('with a repeated id counts once, and the answer says what serves', () => {
    const once = ask(serving(), rollback('id', 'R1')).state;
    expect(took(once, null, rollback('id', 'R1'))).toBe('joined: R1');
    const ending = { outcome: 'rolled_back', servingRevisionId: 'R1' } as const;
    const ended = recordResult(once, result('rollback-2', ending), 0);
    expect(took(ended, null, rollback('id', 'R1'))).toBe('joined: R1');
  });

  it('says what will serve: release, commit and artifact beside the id', () => {
    const known = KNOWN.map((one) => ({ ...one, commit: 'c0ffee', artifact: 'image:agent:1' }));
    expect(ask(serving({ known }), rollback('id', 'R1')).answer.reason).toBe(
      'starting; revision R1 (release-1, commit c0ffee, image:agent:1) will serve',
    );
  });

  it('is rejected if ten wait', () => {
    const asked = Array.from({ length: 12 }, (_, index) => rollback(`${index}`, `revision-${index}`));
    const state = asked.reduce((before, one) => ask(before, one).state, serving());
    expect(state.rollbacks).toHaveLength(10);
  });
});

describe('the rollback of a guard', () => {
  const guard = { workflowId: 'guard:w/release-2', releaseId: 'release-2', revisionId: 'R2', until: LATER };
  const ended = { at: NOW, note: 'errors 1 > 0' } as const;
  const asked: RollbackRequest = { ...leaving('R2'), guard: 'release-2' };

  it('is carried out as a person’s, if what it guards serves', () => {
    const worse = { ...guard, ended: { ...ended, verdict: 'worse' as const } };
    for (const inForce of [guard, worse]) {
      const { answer, state } = ask(serving({ guard: inForce }), asked, 'R2');
      expect(answer).toMatchObject({ disposition: 'queued', onHold: true });
      expect(state.rollbacks).toMatchObject([{ from: 'R2', to: 'R1' }]);
    }
  });

  it('changes nothing once it is not in force, or about another revision', () => {
    const passed = { ...guard, ended: { ...ended, verdict: 'passed' as const } };
    const situations = [
      ask(serving(), asked, 'R2'),
      ask(serving({ guard: passed }), asked, 'R2'),
      ask(serving({ guard }), { ...asked, guard: 'release-1' }, 'R2'),
      ask(serving({ guard }), asked, 'R3'),
      ask(serving({ guard }), asked, null),
      ask(serving({ guard }), { ...asked, from: undefined }, 'R2'),
    ];
    for (const { answer, state, preempt } of situations) {
      expect(answer).toMatchObject({ disposition: 'ignored', onHold: false });
      expect(state).toMatchObject({ hold: null, rollbacks: [], known: KNOWN });
      expect(preempt).toBeUndefined();
    }
  });

  it('stops a release that has not changed what serves, and is refused once one has', () => {
    const worse = { ...guard, ended: { ...ended, verdict: 'worse' as const } };
    const during = { state: serving({ guard }), running: RELEASE, now: NOW, active: 'R2' };
    expect(requestRollback(during, asked)).toMatchObject({
      answer: { disposition: 'preempting' },
      preempt: { from: 'R2' },
    });
    for (const inForce of [guard, worse]) {
      const changed = preemptGuard(inForce, 'release-3', NOW);
      const { answer, state } = ask(serving({ guard: changed }), asked, 'R2');
      expect(answer.reason).toContain('release-3 has begun since');
      expect(state.rollbacks).toEqual([]);
    }
  });

  it('is refused while a person’s rollback is about to begin', () => {
    const persons = leaving('R1');
    const { answer, state } = ask(serving({ guard, rollbacks: [persons] }), asked, 'R2');
    expect(answer).toMatchObject({
      disposition: 'ignored',
      reason: expect.stringContaining('a rollback') as string,
    });
    expect(state.rollbacks).toEqual([persons]);
  });
});

describe('the kept answers', () => {
  it('are the first ones to the last twenty requests', () => {
    const keep = (state: TargetState, requestId: string, reason: string): TargetState =>
      keepAnswer(state, requestId, { state: 'refused', reason });
    const ids = Array.from({ length: 21 }, (_, index) => `${index}`);
    const kept = ids.reduce((state, id) => keep(state, id, `first ${id}`), serving());
    expect(keep(kept, '20', 'again')).toBe(kept);
    expect(firstAnswer(kept, '20')).toEqual({ state: 'refused', reason: 'first 20' });
    expect(firstAnswer(kept, '1')).toBeDefined();
    expect(firstAnswer(kept, '0')).toBeUndefined();
  });
});
