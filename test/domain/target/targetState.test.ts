import { describe, expect, it } from 'vitest';

import { requestRollback } from '../../../src/domain/rollback/targetRollback.ts';
import { endUnstarted, setHold, submitRelease } from '../../../src/domain/target/targetQueue.ts';
import { recordResult } from '../../../src/domain/target/targetResult.ts';
import {
  EMPTY_TARGET,
  ignoreMessage,
  isToBeKept,
  keptStateOf,
  lookUp,
  stateToKeep,
  type TargetState,
} from '../../../src/domain/target/targetState.ts';
import { ADA, NOW, request, result, rollback, runs, seasoned } from './targets.ts';

describe('finding an item', () => {
  const running = runs('release-1');
  const first = submitRelease(seasoned(), running, request('a', { queue: 'all' }), NOW).state;
  const state = submitRelease(first, running, request('b', { queue: 'all' }), NOW).state;

  it('shows what runs, what waits and its position, and what is unknown', () => {
    expect(lookUp(state, running, 'release-1')).toEqual({
      state: 'running',
      releaseId: 'release-1',
      workflowId: 'target/release-1',
    });
    expect(lookUp(state, running, 'release-2')).toEqual({ state: 'queued', reason: 'next in the queue' });
    expect(lookUp(state, running, 'release-3')).toEqual({ state: 'queued', reason: 'number 2 in the queue' });
    expect(lookUp(state, running, 'release-99')).toBeUndefined();
  });

  it('leads from a rollback’s request to the release that executes it, and then to its row', () => {
    const restore = { step: 'redeploy', restoring: true, startedAt: NOW, status: 'done' } as const;
    const asked = requestRollback({ state, running, now: NOW }, rollback('id')).state;
    expect(lookUp(asked, running, 'id')).toMatchObject({ state: 'running', releaseId: 'release-1' });
    expect(lookUp(asked, null, 'id')).toMatchObject({ state: 'queued' });
    const ended = recordResult(asked, result('release-1', { outcome: 'rolled_back', steps: [restore] }), 0);
    expect(lookUp(ended, null, 'id')).toMatchObject({ state: 'ended', row: { releaseId: 'release-1' } });
  });
});

describe('the list of ignored messages', () => {
  it('keeps the newest twenty', () => {
    let state = seasoned();
    for (let index = 0; index < 30; index++) state = ignoreMessage(state, 'rollback', `${index}`, NOW);
    expect(state.ignored.map(({ reason }) => reason)).toEqual(
      Array.from({ length: 20 }, (_, index) => `${index + 10}`),
    );
  });
});

describe('the state that a target keeps in its record store', () => {
  it('restores everything essential, and fields that are added later', () => {
    const state = { ...setHold(EMPTY_TARGET, ADA, NOW), nextNumber: 7, later: 'a field' };
    const record: unknown = JSON.parse(JSON.stringify({ at: NOW, state: stateToKeep(state) }));
    expect(keptStateOf(record)).toEqual({ at: NOW, state });
  });

  it('omits long and temporary fields', () => {
    const row = { at: NOW, message: 'hold', by: ADA, note: '' };
    const long = endUnstarted(
      { ...EMPTY_TARGET, said: [row] },
      runs('release-3', { requestKey: 'key' }),
      NOW,
    );
    expect(keptStateOf({ at: NOW, state: stateToKeep(long) })).toEqual({ at: NOW, state: EMPTY_TARGET });
  });

  it('is written only if the hold, the quarantine, the verified revisions or the guard have changed', () => {
    const other = (changes: Partial<TargetState>): boolean =>
      isToBeKept({ ...EMPTY_TARGET, ...changes }, EMPTY_TARGET);
    expect(other({ hold: { since: NOW, by: ADA } })).toBe(true);
    expect(other({ quarantined: [] })).toBe(true);
    expect(other({ known: [] })).toBe(true);
    const guard = { workflowId: 'guard:t/release-1', releaseId: 'release-1', revisionId: 'r', until: NOW };
    expect(other({ guard })).toBe(true);
    expect(other({ nextNumber: 2, ignored: [] })).toBe(false);
    expect(isToBeKept(EMPTY_TARGET, null)).toBe(true);
  });

  it.each([undefined, null, 'text', {}])('is not read from %j', (record) => {
    expect(keptStateOf(record)).toBeUndefined();
  });
});

it('a release that its target started but that never existed ends aborted', () => {
  const { history } = endUnstarted(EMPTY_TARGET, runs('release-3', { requestKey: 'key' }), NOW);
  expect(history).toMatchObject([{ releaseId: 'release-3', outcome: 'aborted', requestKey: 'key' }]);
});
