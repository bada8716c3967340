import { describe, expect, it } from 'vitest';

import { exactText } from '../../../src/domain/scalars.ts';
import type { Outcome } from '../../../src/domain/release/outcome.ts';
import type { ReleaseRequest } from '../../../src/domain/release/release.ts';
import { requestRollback } from '../../../src/domain/rollback/targetRollback.ts';
import { counterLateRevision } from '../../../src/domain/target/lateRevisions.ts';
import {
  QUEUE_MAX,
  rejectQuarantined,
  releaseHold,
  setHold,
  submitRelease,
  supersedeReplaced,
  takeNext,
} from '../../../src/domain/target/targetQueue.ts';
import { recordResult } from '../../../src/domain/target/targetResult.ts';
import { EMPTY_TARGET, type Running, type TargetState } from '../../../src/domain/target/targetState.ts';
import { randomFrom } from '../../../src/judge/random.ts';
import { ADA, NOW, request, result, rollback, runs, seasoned, verified } from './targets.ts';

const HOLD = { since: NOW, by: ADA };
const BEFORE = runs('release-0');

/** The target after a release was submitted while another one runs. */
function waits(state: TargetState, key: string, changes: Partial<ReleaseRequest> = {}): TargetState {
  return submitRelease(state, BEFORE, request(key, changes), NOW).state;
}

function answer(state: TargetState, key: string, running: Running | null = null) {
  return submitRelease(state, running, request(key), NOW).answer;
}

const idsOf = ({ queue }: TargetState): string[] => queue.map(({ releaseId }) => releaseId);

describe('a submitted release', () => {
  it('is queued under the next number, and its request is the newest', () => {
    expect(answer(EMPTY_TARGET, 'a')).toEqual({
      releaseId: 'release-1',
      disposition: 'queued',
      reason: 'starting',
    });
    const state = waits(EMPTY_TARGET, 'a');
    const lastRequest = { requestKey: 'a' };
    expect(state).toMatchObject({ nextNumber: 2, spec: { name: 'production' }, lastRequest });
    expect(answer(state, 'b', runs('release-1'))).toMatchObject({
      releaseId: 'release-2',
      reason: 'waiting its turn',
    });
  });

  it('supersedes waiting ones under queue: latest, and waits behind them under queue: all', () => {
    const all = waits(waits(EMPTY_TARGET, 'a'), 'b', { queue: 'all' });
    expect(idsOf(all)).toEqual(['release-1', 'release-2']);
    const latest = waits(all, 'c');
    expect(idsOf(latest)).toEqual(['release-3']);
    const ends = latest.history.map(({ releaseId, outcome }) => `${releaseId} ${outcome}`);
    expect(ends).toEqual(['release-1 superseded', 'release-2 superseded']);
  });

  it('joins a waiting or running one with the same key in every case', () => {
    const waiting = waits(EMPTY_TARGET, 'a');
    for (const state of [waiting, { ...waiting, hold: HOLD }]) {
      const joined = submitRelease(state, null, request('a'), NOW);
      expect(joined.answer).toMatchObject({ releaseId: 'release-1', disposition: 'joined' });
      expect(joined.state).toBe(state);
    }
    expect(answer(EMPTY_TARGET, 'a', runs('release-7', { requestKey: 'a' })).releaseId).toBe('release-7');
  });

  it('is already released only while its own revision, or a copy of it, serves and no work is pending', () => {
    const released = recordResult(seasoned(), result('release-1', { requestKey: 'a' }), 0);
    expect(answer(released, 'a').disposition).toBe('already_released');
    const copy = { revisionId: 'copy', copyOf: 'new', verified: true, at: NOW };
    const restored = { ...released, known: [copy], activeRevisionId: 'copy' };
    expect(answer(restored, 'a').disposition).toBe('already_released');
    expect(answer(released, 'a', runs('release-2')).disposition).toBe('queued');
    const others = [
      ...['another', null].map((activeRevisionId) => ({ ...released, activeRevisionId })),
      submitRelease(released, null, request('b'), NOW).state,
    ];
    for (const state of others) expect(answer(state, 'a').disposition).toBe('queued');
  });

  it.each<Outcome>(['rolled_back', 'failed', 'rollback_failed', 'errored', 'aborted'])(
    'is a new attempt after one that ended %s',
    (outcome) => {
      const ended = recordResult(seasoned(), result('release-1', { requestKey: 'a', outcome }), 0);
      expect(answer(ended, 'a').disposition).toBe('queued');
    },
  );

  it('on hold is rejected with who set it and why, unless it overrides the hold', () => {
    const state = seasoned({ hold: HOLD });
    const rejected = submitRelease(state, null, request('a'), NOW);
    expect(rejected.answer).toEqual({
      releaseId: 'release-2',
      disposition: 'rejected',
      rejectedFor: 'hold',
      reason: `the target is on hold since ${exactText(NOW)}, set by ada: a reason`,
    });
    const history = [{ releaseId: 'release-2', outcome: 'rejected' }];
    expect(rejected.state).toMatchObject({ queue: [], history });
    expect(idsOf(waits(state, 'a', { overrideHold: true }))).toEqual(['release-2']);
  });

  it('is rejected if too many wait', () => {
    let state: TargetState = seasoned();
    for (let index = 0; index < QUEUE_MAX; index++) state = waits(state, `${index}`, { queue: 'all' });
    const one = submitRelease(state, BEFORE, request('more', { queue: 'all' }), NOW);
    expect(one.answer).toMatchObject({
      disposition: 'rejected',
      reason: `${QUEUE_MAX} releases are waiting`,
    });
    expect(one.state.queue).toHaveLength(QUEUE_MAX);
  });

  it('waits only if all waiting ones fit the size limit of a target', () => {
    const target = { ...request('').target, sourceConfig: { text: 'x'.repeat(100_000) } };
    const two = ['a', 'b'].reduce((state, key) => waits(state, key, { queue: 'all', target }), EMPTY_TARGET);
    expect(two.queue).toHaveLength(2);
    const third = submitRelease(two, null, request('c', { queue: 'all', target }), NOW).answer;
    expect(third.disposition).toBe('rejected');
    expect(third.reason).toContain('300000 bytes');
    expect(waits(two, 'small', { queue: 'all' }).queue).toHaveLength(3);
  });
});

describe('a hold', () => {
  it('keeps its first reason, and ends when it is released', () => {
    const held = setHold(seasoned(), ADA, NOW);
    expect(setHold(held, { who: 'bo', from: 'cli' }, 'later')).toBe(held);
    expect(releaseHold(held).hold).toBeNull();
  });

  it('of a person replaces a rollback’s, which ends with the rollback', () => {
    const rolledBack = seasoned({ hold: { since: NOW, by: { who: 'bo', from: 'cli' }, requestId: 'r1' } });
    expect(setHold(rolledBack, ADA, 'later').hold).toEqual({ since: 'later', by: ADA });
  });

  it('rejects waiting releases, except those that override it', () => {
    const both = waits(waits(seasoned(), 'a'), 'b', { queue: 'all', overrideHold: true });
    const held = setHold(both, ADA, NOW);
    expect(held.queue.map((waiting) => waiting.request.requestKey)).toEqual(['b']);
    const reason = 'rejected by a hold, by ada: a reason';
    expect(held.history).toMatchObject([{ outcome: 'rejected', reason }]);
  });
});

describe('the next work', () => {
  const queued = waits(seasoned(), 'a');

  it('is a rollback before every release, and stays until it has ended', () => {
    const late = { revisionId: 'late', deploymentId: 'd', restoreTo: 'good', until: NOW };
    const next = takeNext(counterLateRevision(queued, late, 'id'));
    expect(next?.work).toMatchObject({ kind: 'rollback', releaseId: 'rollback-3', request: { to: 'good' } });
    expect(next?.state.rollbacks).toHaveLength(1);
    expect(next?.state.queue).toHaveLength(1);
  });

  it('is the oldest waiting release, or nothing', () => {
    const next = takeNext(queued);
    expect(next?.work).toMatchObject({ kind: 'release', releaseId: 'release-2' });
    expect(takeNext(next?.state ?? queued)).toBeUndefined();
  });
});

describe('any sequence of messages to a target', () => {
  it.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'keeps it bounded and loses nothing (%i)',
    (seed) => {
      const random = randomFrom(seed);
      const pick = <T>(...choices: readonly T[]): T => choices[Math.floor(random() * choices.length)]!;
      let state: TargetState = EMPTY_TARGET;
      let running: Running | null = null;
      const asked = new Set<string>();
      for (let step = 0; step < 300; step++) {
        const name = pick('a', 'b', 'c', 'd');
        switch (pick('submit', 'submit', 'rollback', 'hold', 'unhold', 'next', 'end', 'end')) {
          case 'submit': {
            const asks = request(name, { queue: pick('latest', 'all'), overrideHold: pick(true, false) });
            const taken = submitRelease(state, running, asks, NOW);
            state = taken.state;
            asked.add(taken.answer.releaseId);
            break;
          }
          case 'rollback': {
            const asks = rollback(`${step}`, pick(undefined, name));
            state = requestRollback({ state, running, now: NOW }, asks).state;
            break;
          }
          case 'hold':
            state = setHold(state, ADA, NOW);
            break;
          case 'unhold':
            state = releaseHold(state);
            break;
          case 'next': {
            const next = running === null ? takeNext(state) : undefined;
            if (next === undefined) break;
            const { releaseId, kind, request: work } = next.work;
            const requestKey = kind === 'release' ? (work as { requestKey: string }).requestKey : null;
            running = runs(releaseId, { requestKey });
            state = next.state;
            break;
          }
          case 'end':
            if (running === null) break;
            state = recordResult(
              state,
              result(running.releaseId, {
                requestKey: running.requestKey,
                outcome: pick<Outcome>('released', 'rolled_back', 'failed', 'errored', 'aborted'),
                servingRevisionId: pick('a', 'b', null),
                givenUpRevisionIds: pick([], ['late']),
              }),
              1_000,
            );
            running = null;
        }
        const told = new Set(state.history.map(({ releaseId }) => releaseId));
        const queued = state.queue.map(({ releaseId }) => releaseId);
        // Every requested release waits, runs, or has a row (old rows are dropped).
        const lost = [...asked]
          .slice(-50)
          .filter((id) => !queued.includes(id) && running?.releaseId !== id && !told.has(id));
        if (state.history.length < 100) expect(lost).toEqual([]);
        expect(told.size).toBe(state.history.length);
        expect(state.history.length).toBeLessThanOrEqual(100);
        expect(state.queue.length).toBeLessThanOrEqual(QUEUE_MAX);
        expect(state.rollbacks.length).toBeLessThanOrEqual(10);
        expect(state.late.length).toBeLessThanOrEqual(20);
        if (state.hold !== null) expect(state.queue.every((waits) => waits.request.overrideHold)).toBe(true);
        expect(JSON.parse(JSON.stringify(state))).toEqual(state);
      }
    },
  );
});

it('a quarantine rejects only the waiting releases of its artifact, with the person and the reason', () => {
  const both = waits(waits(seasoned(), 'bad'), 'good', { queue: 'all' });
  const quarantined = [{ artifact: 'sha256:bad', since: NOW, by: ADA }];
  const state = rejectQuarantined({ ...both, quarantined }, NOW);
  expect(idsOf(state)).toEqual(['release-3']);
  const reason = 'rejected by a quarantine, by ada: a reason';
  expect(state.history).toMatchObject([{ releaseId: 'release-2', outcome: 'rejected', reason }]);
});

it('a release that replaces one revision is superseded once another one is active', () => {
  const state = waits(seasoned({ activeRevisionId: 'R1' }), 'a', { queue: 'all', replaces: 'R1' });
  expect(supersedeReplaced(state, NOW).queue).toEqual(state.queue);
  const copied = { ...state, known: [{ ...verified('R3'), copyOf: 'R1' }], activeRevisionId: 'R3' };
  expect(supersedeReplaced(copied, NOW).queue).toEqual(state.queue);
  const replaced = supersedeReplaced({ ...state, activeRevisionId: 'R2' }, NOW);
  const reason = 'it was asked for while revision R1 served; revision R2 serves since';
  const row = { releaseId: 'release-2', outcome: 'superseded', reason };
  expect(replaced).toMatchObject({ queue: [], history: [row] });
  const late = submitRelease(
    seasoned({ activeRevisionId: 'R2' }),
    null,
    request('a', { replaces: 'R1' }),
    NOW,
  );
  expect(late).toMatchObject({ answer: { disposition: 'rejected', reason }, state: { history: [row] } });
});
