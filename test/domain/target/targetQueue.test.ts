import { describe, expect, it } from 'vitest';

import type { Outcome } from '../../../src/domain/release/outcome.ts';
import { requestRollback } from '../../../src/domain/rollback/targetRollback.ts';
import { counterLateRevision } from '../../../src/domain/target/lateRevisions.ts';
import {
  QUEUE_MAX,
  rejectQuarantined,
  releaseHold,
  setHold,
  submitRelease,
  takeNext,
} from '../../../src/domain/target/targetQueue.ts';
import { recordResult } from '../../../src/domain/target/targetResult.ts';
import { EMPTY_TARGET, type Running, type TargetState } from '../../../src/domain/target/targetState.ts';
import { randomFrom } from '../../../src/judge/random.ts';
import { ADA, NOW, request, result, rollback, runs, seasoned } from './targets.ts';

const HOLD = { since: NOW, by: ADA };

describe('a release that is submitted', () => {
  it('is queued under the next number, and its request is the newest', () => {
    const { state, answer } = submitRelease(EMPTY_TARGET, null, request('a'), NOW);
    expect(answer).toEqual({ releaseId: 'release-1', disposition: 'queued', reason: 'starting' });
    expect(state).toMatchObject({
      nextNumber: 2,
      spec: { name: 'production' },
      lastRequest: { requestKey: 'a' },
    });
    expect(submitRelease(state, runs('release-1'), request('b'), NOW).answer).toMatchObject({
      releaseId: 'release-2',
      reason: 'waiting its turn',
    });
  });

  it('supersedes what waits under queue: latest, and waits behind it under queue: all', () => {
    const first = submitRelease(EMPTY_TARGET, runs('release-0'), request('a'), NOW).state;
    const all = submitRelease(first, runs('release-0'), request('b', { queue: 'all' }), NOW).state;
    expect(all.queue.map(({ releaseId }) => releaseId)).toEqual(['release-1', 'release-2']);
    const latest = submitRelease(all, runs('release-0'), request('c'), NOW).state;
    expect(latest.queue.map(({ releaseId }) => releaseId)).toEqual(['release-3']);
    expect(latest.history.map(({ releaseId, outcome }) => [releaseId, outcome])).toEqual([
      ['release-1', 'superseded'],
      ['release-2', 'superseded'],
    ]);
  });

  it('joins one with the same key that waits or runs, whatever else is so', () => {
    const waiting = submitRelease(EMPTY_TARGET, null, request('a'), NOW).state;
    for (const state of [waiting, { ...waiting, hold: HOLD }]) {
      const joined = submitRelease(state, null, request('a'), NOW);
      expect(joined.answer).toMatchObject({ releaseId: 'release-1', disposition: 'joined' });
      expect(joined.state).toBe(state);
    }
    const running = runs('release-7', { requestKey: 'a' });
    expect(submitRelease(EMPTY_TARGET, running, request('a'), NOW).answer.releaseId).toBe('release-7');
  });

  it('is already released only while its own revision serves and nothing else is on its way', () => {
    const released = recordResult(seasoned(), result('release-1', { requestKey: 'a' }), 0);
    const disposition = (state: TargetState, running: Running | null = null): string =>
      submitRelease(state, running, request('a'), NOW).answer.disposition;
    expect(disposition(released)).toBe('already_released');
    expect(disposition(released, runs('release-2'))).toBe('queued');
    expect(disposition({ ...released, activeRevisionId: 'another' })).toBe('queued');
    expect(disposition({ ...released, activeRevisionId: null })).toBe('queued');
    const waiting = submitRelease(released, null, request('b'), NOW).state;
    expect(disposition(waiting)).toBe('queued');
  });

  it.each<Outcome>(['rolled_back', 'failed', 'rollback_failed', 'errored', 'aborted'])(
    'is a new attempt after one that ended %s',
    (outcome) => {
      const ended = recordResult(seasoned(), result('release-1', { requestKey: 'a', outcome }), 0);
      expect(submitRelease(ended, null, request('a'), NOW).answer.disposition).toBe('queued');
    },
  );

  it('on hold is rejected with who set it and why, unless it overrides the hold', () => {
    const state = seasoned({ hold: HOLD });
    const rejected = submitRelease(state, null, request('a'), NOW);
    expect(rejected.answer).toEqual({
      releaseId: 'release-2',
      disposition: 'rejected',
      rejectedFor: 'hold',
      reason: `the target is on hold since ${NOW}, set by ada: a reason`,
    });
    expect(rejected.state.queue).toEqual([]);
    expect(rejected.state.history).toMatchObject([{ releaseId: 'release-2', outcome: 'rejected' }]);
    const overriding = request('a', { overrideHold: true });
    expect(submitRelease(state, null, overriding, NOW).answer.disposition).toBe('queued');
  });

  it('is rejected where too many wait', () => {
    let state: TargetState = seasoned();
    for (let index = 0; index < QUEUE_MAX; index++) {
      state = submitRelease(state, runs('release-0'), request(`${index}`, { queue: 'all' }), NOW).state;
    }
    const one = submitRelease(state, runs('release-0'), request('more', { queue: 'all' }), NOW);
    expect(one.answer).toMatchObject({
      disposition: 'rejected',
      reason: `${QUEUE_MAX} releases are waiting`,
    });
    expect(one.state.queue).toHaveLength(QUEUE_MAX);
  });
});

describe('a hold', () => {
  it('keeps its first reason, and ends when it is released', () => {
    const held = setHold(seasoned(), ADA, NOW);
    expect(setHold(held, { who: 'bo', from: 'cli' }, 'later')).toBe(held);
    expect(releaseHold(held).hold).toBeNull();
  });

  it('of a person takes the place of a rollback’s, which ends with the rollback', () => {
    const rolledBack = seasoned({ hold: { since: NOW, by: { who: 'bo', from: 'cli' }, requestId: 'r1' } });
    expect(setHold(rolledBack, ADA, 'later').hold).toEqual({ since: 'later', by: ADA });
  });

  it('rejects what waits, except what overrides it', () => {
    const first = submitRelease(seasoned(), runs('release-0'), request('a'), NOW).state;
    const overriding = request('b', { queue: 'all', overrideHold: true });
    const held = setHold(submitRelease(first, runs('release-0'), overriding, NOW).state, ADA, NOW);
    expect(held.queue.map(({ request: { requestKey } }) => requestKey)).toEqual(['b']);
    expect(held.history).toMatchObject([
      { outcome: 'rejected', reason: 'rejected by a hold, by ada: a reason' },
    ]);
  });
});

describe('what comes next', () => {
  it('is a rollback before every release, which stays until it has ended', () => {
    const queued = submitRelease(seasoned(), null, request('a'), NOW).state;
    const late = { revisionId: 'late', deploymentId: 'd', restoreTo: 'good', until: NOW };
    const next = takeNext(counterLateRevision(queued, late, 'id'));
    expect(next?.work).toMatchObject({ kind: 'rollback', releaseId: 'rollback-3', request: { to: 'good' } });
    expect(next?.state.rollbacks).toHaveLength(1);
    expect(next?.state.queue).toHaveLength(1);
  });

  it('is the release that has waited longest, and nothing where nothing waits', () => {
    const queued = submitRelease(seasoned(), null, request('a'), NOW).state;
    const next = takeNext(queued);
    expect(next?.work).toMatchObject({ kind: 'release', releaseId: 'release-2' });
    expect(takeNext(next?.state ?? queued)).toBeUndefined();
  });
});

describe('whatever is asked of a target, in whatever order', () => {
  it.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'it stays bounded and loses nothing (%i)',
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
          case 'rollback':
            state = requestRollback(
              { state, running, now: NOW },
              rollback(`${step}`, pick(undefined, name)),
            ).state;
            break;
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
        // Every release that was ever asked for waits, runs, or has a row (old rows make room).
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

describe('a quarantine', () => {
  it('rejects the releases of its artifact that wait, with who put it there and why, and no others', () => {
    const queue = ['bad', 'good'].map((key) => ({
      releaseId: `release-${key}`,
      request: request(key),
      queuedAt: NOW,
    }));
    const quarantined = [{ artifact: 'sha256:bad', since: NOW, by: ADA }];
    const state = rejectQuarantined(seasoned({ queue, quarantined }), NOW);
    expect(state.queue.map(({ releaseId }) => releaseId)).toEqual(['release-good']);
    expect(state.history).toMatchObject([
      { releaseId: 'release-bad', outcome: 'rejected', reason: 'rejected by a quarantine, by ada: a reason' },
    ]);
  });
});

it('releases that wait take no more room together than a target can carry', () => {
  const large = (key: string) =>
    request(key, {
      queue: 'all',
      target: { ...request(key).target, sourceConfig: { text: 'x'.repeat(100_000) } },
    });
  const two = ['a', 'b'].reduce(
    (state, key) => submitRelease(state, null, large(key), NOW).state,
    EMPTY_TARGET,
  );
  expect(two.queue).toHaveLength(2);
  expect(submitRelease(two, null, large('c'), NOW).answer).toMatchObject({
    disposition: 'rejected',
    reason: expect.stringContaining('300000 bytes') as string,
  });
  expect(submitRelease(two, null, request('small', { queue: 'all' }), NOW).answer.disposition).toBe('queued');
});
