import { describe, expect, it } from 'vitest';

import { planWork, type PlannedRevision, type RunningJob } from '../../src/controlPlane/plan.ts';
import type { RevisionStatus } from '../../src/controlPlane/revisionStates.ts';

const NO_JOBS = new Map<string, RunningJob>();

let requested = 0;
function revision(
  id: string,
  deploymentId: string,
  status: RevisionStatus,
  more: Partial<PlannedRevision> = {},
): PlannedRevision {
  return { id, deploymentId, status, requested: ++requested, requestedBy: 'patch', hasSource: true, ...more };
}

function job(revisionId: string, more: Partial<RunningJob> = {}): RunningJob {
  return { revisionId, requested: 0, building: true, interrupted: false, ...more };
}

describe('the plan', () => {
  it('has nothing to do where nothing waits', () => {
    expect(planWork([], NO_JOBS, 2)).toEqual([]);
    expect(planWork([revision('a', 'd', 'BUILDING')], new Map([['d', job('a')]]), 2)).toEqual([]);
  });

  it('moves a revision on, step by step', () => {
    expect(planWork([revision('a', 'd', 'CREATING')], NO_JOBS, 2)).toEqual([
      { kind: 'queue', revisionId: 'a' },
    ]);
    expect(planWork([revision('a', 'd', 'QUEUED')], NO_JOBS, 2)).toEqual([
      { kind: 'admit', revisionId: 'a' },
    ]);
    expect(planWork([revision('a', 'd', 'AWAITING_BUILD')], NO_JOBS, 2)).toEqual([
      { kind: 'run', revisionId: 'a', building: true },
    ]);
    expect(planWork([revision('a', 'd', 'AWAITING_DEPLOY')], NO_JOBS, 2)).toEqual([
      { kind: 'run', revisionId: 'a', building: false },
    ]);
  });

  it('leaves a revision without a source alone, and lets nothing wait for it', () => {
    const first = revision('first', 'd', 'AWAITING_BUILD', { hasSource: false });
    expect(planWork([first], NO_JOBS, 2)).toEqual([]);
    expect(planWork([first, revision('second', 'd', 'QUEUED')], NO_JOBS, 2)).toEqual([
      { kind: 'skip', revisionId: 'first', by: 'second' },
      { kind: 'admit', revisionId: 'second' },
    ]);
  });

  it('queues behind what runs, and skips all that wait but the newest', () => {
    const jobs = new Map([['d', job('running')]]);
    const waiting = [revision('b', 'd', 'QUEUED'), revision('c', 'd', 'CREATING')];
    expect(planWork(waiting, jobs, 2)).toEqual([
      { kind: 'skip', revisionId: 'b', by: 'c' },
      { kind: 'queue', revisionId: 'c' },
    ]);
    expect(planWork([revision('c', 'd', 'QUEUED')], jobs, 2)).toEqual([]);
  });

  it('counts by when a revision was asked for, not by when it was made', () => {
    const made = [
      revision('old', 'd', 'AWAITING_DEPLOY', { requested: 9, requestedBy: 'redeploy' }),
      revision('new', 'd', 'QUEUED', { requested: 8 }),
    ];
    expect(planWork(made, NO_JOBS, 2)).toEqual([
      { kind: 'skip', revisionId: 'new', by: 'old' },
      { kind: 'run', revisionId: 'old', building: false },
    ]);
  });

  it('interrupts what runs for a redeploy, once, and for nothing else', () => {
    const redeploy = revision('old', 'd', 'AWAITING_DEPLOY', { requested: 9, requestedBy: 'redeploy' });
    const running = (more: Partial<RunningJob>) =>
      new Map([['d', job('running', { requested: 5, ...more })]]);
    expect(planWork([redeploy], running({}), 2)).toEqual([
      { kind: 'interrupt', deploymentId: 'd', by: 'old' },
    ]);
    expect(planWork([redeploy], running({ interrupted: true }), 2)).toEqual([]);
    expect(planWork([redeploy], running({ requested: 10 }), 2)).toEqual([]);
  });

  it('builds as many at once as there are slots, the earliest requests first', () => {
    const waiting = [
      revision('c', 'd3', 'AWAITING_BUILD', { requested: 3 }),
      revision('a', 'd1', 'AWAITING_BUILD', { requested: 1 }),
      revision('b', 'd2', 'AWAITING_BUILD', { requested: 2 }),
    ];
    expect(planWork(waiting, NO_JOBS, 2)).toEqual([
      { kind: 'run', revisionId: 'a', building: true },
      { kind: 'run', revisionId: 'b', building: true },
    ]);
    expect(planWork(waiting, new Map([['x', job('x')]]), 2)).toEqual([
      { kind: 'run', revisionId: 'a', building: true },
    ]);
  });

  it('needs no slot to deploy, so a rollback does not wait for the builds of others', () => {
    const jobs = new Map([
      ['x', job('x')],
      ['y', job('y')],
    ]);
    expect(planWork([revision('a', 'd', 'AWAITING_DEPLOY')], jobs, 2)).toEqual([
      { kind: 'run', revisionId: 'a', building: false },
    ]);
    expect(planWork([revision('a', 'd', 'AWAITING_BUILD')], jobs, 2)).toEqual([]);
  });

  it('never has two revisions of a deployment at work, whatever waits', () => {
    const statuses: RevisionStatus[] = ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'AWAITING_DEPLOY'];
    for (const one of statuses) {
      for (const other of statuses) {
        const actions = planWork([revision('a', 'd', one), revision('b', 'd', other)], NO_JOBS, 2);
        expect(actions.filter(({ kind }) => kind === 'run').length).toBeLessThanOrEqual(1);
        expect(actions).toContainEqual({ kind: 'skip', revisionId: 'a', by: 'b' });
      }
    }
  });
});
