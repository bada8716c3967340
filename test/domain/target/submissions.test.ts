import { describe, expect, it } from 'vitest';

import { takeSubmission, withdrawSubmission } from '../../../src/domain/target/submissions.ts';
import { takeNext, withdrawnBy } from '../../../src/domain/target/targetQueue.ts';
import type { TargetState } from '../../../src/domain/target/targetState.ts';
import { ADA, NOW, request, rollback, runs, seasoned } from './targets.ts';

const BO = { who: 'bo', from: 'test' };

describe('a submission', () => {
  it('gets the same answer as before, whatever has happened since', () => {
    const first = takeSubmission(seasoned(), null, 'one', request('a'), NOW);
    expect(first.answer).toMatchObject({ releaseId: 'release-2', disposition: 'queued' });
    const ended = { ...first.state, queue: [], hold: { since: NOW, by: ADA } };
    const again = takeSubmission(ended, null, 'one', request('a'), NOW);
    expect(again).toEqual({ state: ended, answer: first.answer });
    expect(takeSubmission(ended, null, 'two', request('a'), NOW).answer.disposition).toBe('rejected');
  });

  it('that was withdrawn before it arrived is rejected with its own number and the reason', () => {
    const { state, releaseId, stops } = withdrawSubmission(seasoned(), null, 'one', ADA, NOW);
    expect({ releaseId, stops }).toEqual({ releaseId: null, stops: false });
    const taken = takeSubmission(state, null, 'one', request('a'), NOW);
    const reason = 'withdrawn before it arrived, by ada: a reason';
    expect(taken.answer).toEqual({ releaseId: 'release-2', disposition: 'rejected', reason });
    expect(taken.state.queue).toEqual([]);
    expect(taken.state.history).toMatchObject([{ releaseId: 'release-2', outcome: 'aborted', reason }]);
  });

  it('that is withdrawn ends only its waiting release, and stops a running one', () => {
    const { state } = takeSubmission(seasoned(), null, 'one', request('a'), NOW);
    const waiting = withdrawSubmission(state, runs('release-1'), 'one', BO, NOW);
    expect(waiting).toMatchObject({ releaseId: 'release-2', stops: false, state: { queue: [] } });
    expect(waiting.state.history).toMatchObject([{ releaseId: 'release-2', outcome: 'aborted' }]);
    const two = takeSubmission(state, runs('release-1'), 'two', request('b', { queue: 'all' }), NOW).state;
    expect(withdrawSubmission(two, runs('release-1'), 'one', BO, NOW).state.queue).toMatchObject([
      { releaseId: 'release-3' },
    ]);

    const started = takeNext(state)?.state ?? state;
    const running = withdrawSubmission(started, runs('release-2'), 'one', BO, NOW);
    expect(running).toMatchObject({ releaseId: 'release-2', stops: true });
    expect(withdrawnBy(running.state, 'release-2')).toEqual(BO);

    const ended = withdrawSubmission(started, null, 'one', BO, NOW);
    expect(ended).toMatchObject({ releaseId: 'release-2', stops: false, note: 'release-2 has ended' });
  });

  it('that is withdrawn leaves its release to the submissions that joined it, until the last is withdrawn', () => {
    const submit = (before: TargetState, id: string): TargetState =>
      takeSubmission(before, null, id, request('a'), NOW).state;
    const both = submit(submit(seasoned(), 'one'), 'two');
    const one = withdrawSubmission(both, null, 'one', BO, NOW);
    expect(one.state.queue).toHaveLength(1);
    expect(withdrawnBy(one.state, 'release-2')).toBeUndefined();
    expect(withdrawSubmission(one.state, null, 'two', BO, NOW).state.queue).toHaveLength(0);
  });

  it('waits behind a stopping release, and joins one that restores after its own failure', () => {
    const { state } = takeSubmission(seasoned(), null, 'one', request('a'), NOW);
    const started = takeNext(state)?.state ?? state;
    const running = runs('release-2', { requestKey: 'a' });
    const submit = (before: TargetState, now = running) =>
      takeSubmission(before, now, 'two', request('a'), NOW).answer;
    expect(submit(started)).toMatchObject({ releaseId: 'release-2', disposition: 'joined' });

    const behind = { releaseId: 'release-3', disposition: 'queued' };
    const { state: withdrawn } = withdrawSubmission(started, running, 'one', BO, NOW);
    expect(submit(withdrawn)).toMatchObject(behind);
    expect(submit({ ...started, rollbacks: [rollback('back')] })).toMatchObject(behind);
    expect(submit(started, { ...running, restores: 'R0' })).toMatchObject({ disposition: 'joined' });
  });

  it('that only joined does not end a release whose own submission is forgotten', () => {
    const { state } = takeSubmission(
      seasoned(),
      runs('release-1', { requestKey: 'a' }),
      'two',
      request('a'),
      NOW,
    );
    const running = runs('release-1', { requestKey: 'a' });
    expect(withdrawSubmission(state, running, 'two', BO, NOW)).toMatchObject({ stops: false });
  });

  it('is remembered among the newest hundred', () => {
    let state = seasoned();
    for (let id = 0; id < 300; id++) state = withdrawSubmission(state, null, `${id}`, BO, NOW).state;
    expect(state.submissions).toHaveLength(100);
    expect(state.submissions.at(-1)).toEqual({ id: '299', withdrawnBy: BO });
  });
});
