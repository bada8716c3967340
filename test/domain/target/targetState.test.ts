import { describe, expect, it } from 'vitest';

import { requestRollback } from '../../../src/domain/rollback/targetRollback.ts';
import { submitRelease } from '../../../src/domain/target/targetQueue.ts';
import { recordResult } from '../../../src/domain/target/targetResult.ts';
import { ignoreMessage, lookUp } from '../../../src/domain/target/targetState.ts';
import { NOW, request, result, rollback, runs, seasoned } from './targets.ts';

describe('looking something up', () => {
  const running = runs('release-1');
  const first = submitRelease(seasoned(), running, request('a', { queue: 'all' }), NOW).state;
  const state = submitRelease(first, running, request('b', { queue: 'all' }), NOW).state;

  it('tells what runs, what waits and at which place, and what is not known', () => {
    expect(lookUp(state, running, 'release-1')).toEqual({
      state: 'running',
      releaseId: 'release-1',
      workflowId: 'target/release-1',
    });
    expect(lookUp(state, running, 'release-2')).toEqual({ state: 'queued', reason: 'next in the queue' });
    expect(lookUp(state, running, 'release-3')).toEqual({ state: 'queued', reason: 'number 2 in the queue' });
    expect(lookUp(state, running, 'release-99')).toBeUndefined();
  });

  it('leads from a rollback’s request to what carries it out, and then to its row', () => {
    const restore = { step: 'redeploy', restoring: true, startedAt: NOW, status: 'done' } as const;
    const asked = requestRollback({ state, running, now: NOW }, rollback('id')).state;
    expect(lookUp(asked, running, 'id')).toMatchObject({ state: 'running', releaseId: 'release-1' });
    expect(lookUp(asked, null, 'id')).toMatchObject({ state: 'queued' });
    const ended = recordResult(asked, result('release-1', { outcome: 'rolled_back', steps: [restore] }), 0);
    expect(lookUp(ended, null, 'id')).toMatchObject({ state: 'ended', row: { releaseId: 'release-1' } });
  });
});

describe('what was ignored', () => {
  it('is listed, the newest twenty', () => {
    let state = seasoned();
    for (let index = 0; index < 30; index++) state = ignoreMessage(state, 'rollback', `${index}`, NOW);
    expect(state.ignored.map(({ reason }) => reason)).toEqual(
      Array.from({ length: 20 }, (_, index) => `${index + 10}`),
    );
  });
});
