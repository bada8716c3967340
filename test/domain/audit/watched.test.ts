import { describe, expect, it } from 'vitest';

import type { ActivityFact, WorkFact } from '../../../src/domain/audit/facts.ts';
import { request } from '../target/targets.ts';
import { activity } from './activityFact.ts';
import { broken, PATH, putBack, target } from './auditedWorks.ts';

describe('an audit of what a target watches', () => {
  const left = putBack({ result: { givenUpRevisionIds: ['new'] } });
  const watching = activity('awaitLateSuccess', { revisionId: 'new' }, 20);

  it('allows an abandoned revision that is watched, or while the target is busy', () => {
    expect(broken({ ...target([left]), activities: [watching] })).toEqual([]);
    expect(broken({ ...target([left]), idle: false })).toEqual([]);
  });

  it('finds an abandoned revision that the target dropped without a read at its deadline', () => {
    const within = request('a', { steps: { watch: { scheduleToCloseMs: 10 } } });
    expect(broken(target([{ ...left, request: within }]))).toEqual([6]);
    const ending = (change: Partial<ActivityFact>) =>
      broken({ ...target([left]), activities: [{ ...watching, ...change }] });
    expect(ending({ outcome: 'timed_out' })).toEqual([6]);
    expect(ending({ outcome: 'failed', abandonedAt: 25 })).toEqual([6]);
    expect(ending({ outcome: 'failed' })).toEqual([]);
    expect(ending({ outcome: 'completed', result: { cameUp: false } })).toEqual([]);
  });

  it('finds an abandoned revision that became active and was not countered', () => {
    const activities = [{ ...watching, result: { cameUp: true } }];
    expect(broken({ ...target([left]), activities })).toEqual([6]);
    const countered = putBack({ workflowId: 't/release-2', shift: 100 });
    expect(broken({ ...target([left, countered]), activities })).toEqual([]);
  });

  it('finds an abandoned revision that was not watched beside a release', () => {
    const later = putBack({ workflowId: 't/release-2', shift: 100 });
    const at = (scheduledAt: number) => activity('awaitLateSuccess', { revisionId: 'new' }, scheduledAt);
    const abandoned: ActivityFact = { ...at(20), endedAt: 101, outcome: 'failed', abandonedAt: 99 };
    const works = target([left, later]);
    const after = (later.endedAt ?? 0) + 1;
    expect(broken({ ...works, activities: [abandoned, at(after)] })).toEqual([6]);
    expect(broken({ ...works, activities: [abandoned, at(99)] })).toEqual([]);
    expect(broken({ ...works, activities: [at(20)] })).toEqual([]);
  });

  it('allows a reset to end a watch that had its answer, or of a revision restored since', () => {
    const serving = { servingRevisionId: 'new' };
    const chosen = { ...putBack({ workflowId: 't/rollback-2', shift: 50, result: serving }), endedAt: 98 };
    const later = putBack({ workflowId: 't/release-3', shift: 100, result: serving });
    const again: ActivityFact = { ...watching, endedAt: 99, outcome: 'canceled', abandonedAt: 99 };
    const ended = (works: WorkFact[], before: Partial<ActivityFact>) =>
      broken({ ...target(works), activities: [again, { ...watching, ...before }] });
    const pending = { endedAt: null, outcome: 'open' } as const;
    expect(ended([left, later], pending)).toEqual([6]);
    expect(ended([left, later], { result: { cameUp: false } })).toEqual([]);
    expect(ended([left, chosen, later], pending)).toEqual([]);
  });

  it('finds a release whose baseline was an abandoned revision', () => {
    const baseline = { revisionId: 'new', verified: true };
    const later = putBack({ workflowId: 't/release-2', shift: 100, result: { baseline } });
    const watchedUntil = (endedAt: number) =>
      broken({ ...target([left, later]), activities: [{ ...watching, result: { cameUp: false }, endedAt }] });
    expect(watchedUntil(102)).toEqual([6]);
    expect(watchedUntil(90)).toEqual([]);
  });

  it('finds an upload with an unanswered PATCH and without a watch, unless a restore has failed since', () => {
    const unsure = putBack({ result: { unansweredUpload: PATH } });
    expect(broken(target([unsure]))).toEqual([6]);
    const activities = [activity('awaitLateUpload', { objectPath: PATH }, 20)];
    expect(broken({ ...target([unsure]), activities })).toEqual([]);
    const failed = putBack({ workflowId: 't/release-2', shift: 100, result: { outcome: 'rollback_failed' } });
    expect(broken(target([unsure, failed]))).toEqual([]);
    const stopped = { ...failed, ended: 'terminated', result: null } as const;
    expect(broken(target([unsure, stopped]))).not.toContain(6);
  });
});
