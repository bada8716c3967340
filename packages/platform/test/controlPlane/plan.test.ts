import { describe, expect, it } from 'vitest';

import { planWork, type PlannedRevision, type RunningJob } from '../../src/controlPlane/plan.ts';
import type { RevisionStatus } from '../../src/controlPlane/revisionStates.ts';

let requested = 0;
function revision(id: string, status: RevisionStatus, more: Partial<PlannedRevision> = {}): PlannedRevision {
  const usual = {
    deploymentId: 'd',
    tenantId: 't',
    requested: ++requested,
    requestedBy: 'patch',
    hasSource: true,
  } as const;
  return { id, status, ...usual, ...more };
}

function job(more: Partial<RunningJob> = {}): RunningJob {
  return {
    revisionId: 'running',
    requested: 0,
    building: true,
    signal: new AbortController().signal,
    ...more,
  };
}

/** The plan with two build slots, in short form; `jobs` by deployment. */
function plan(
  revisions: PlannedRevision[],
  jobs: Record<string, RunningJob> = {},
  served: string[] = [],
): string[] {
  return planWork(revisions, new Map(Object.entries(jobs)), 2, served).map((action) => {
    switch (action.kind) {
      case 'run':
        return `${action.building ? 'build' : 'deploy'} ${action.revision.id}`;
      case 'skip':
        return `skip ${action.revision.id} for ${action.replacedBy}`;
      case 'interrupt':
        return `interrupt ${action.deploymentId} for ${action.replacedBy}`;
      default:
        return `${action.kind} ${action.revision.id}`;
    }
  });
}

describe('the plan', () => {
  it('is empty if nothing waits', () => {
    expect(plan([])).toEqual([]);
    expect(plan([revision('a', 'BUILDING')], { d: job({ revisionId: 'a' }) })).toEqual([]);
  });

  it.each([
    ['CREATING', 'queue a'],
    ['QUEUED', 'admit a'],
    ['AWAITING_BUILD', 'build a'],
    ['AWAITING_DEPLOY', 'deploy a'],
  ] as const)('moves a revision on from %s: %s', (status, planned) => {
    expect(plan([revision('a', status)])).toEqual([planned]);
  });

  it('leaves a revision without a source alone, and nothing waits for it', () => {
    const first = revision('first', 'AWAITING_BUILD', { hasSource: false });
    expect(plan([first])).toEqual([]);
    expect(plan([first, revision('second', 'QUEUED')])).toEqual(['skip first for second', 'admit second']);
  });

  it('queues behind running work, and skips all waiting revisions except the newest', () => {
    const waiting = [revision('b', 'QUEUED'), revision('c', 'CREATING')];
    expect(plan(waiting, { d: job() })).toEqual(['skip b for c', 'queue c']);
    expect(plan([revision('c', 'QUEUED')], { d: job() })).toEqual([]);
  });

  it('orders by the time of the request, not of the revision', () => {
    const old = revision('old', 'AWAITING_DEPLOY', { requested: 9, requestedBy: 'redeploy' });
    expect(plan([old, revision('new', 'QUEUED', { requested: 8 })])).toEqual([
      'skip new for old',
      'deploy old',
    ]);
  });

  it('skips what was requested before the running revision was requested again', () => {
    const running = revision('running', 'DEPLOYING', { requested: 9, requestedBy: 'redeploy' });
    const waiting = revision('new', 'QUEUED', { requested: 8 });
    expect(plan([running, waiting], { d: job({ requested: 7 }) })).toEqual(['skip new for running']);
  });

  it('interrupts running work only for a redeploy, once', () => {
    const redeploy = revision('old', 'AWAITING_DEPLOY', { requested: 9, requestedBy: 'redeploy' });
    expect(plan([redeploy], { d: job({ requested: 5 }) })).toEqual(['interrupt d for old']);
    expect(plan([redeploy], { d: job({ requested: 5, signal: AbortSignal.abort() }) })).toEqual([]);
    expect(plan([redeploy], { d: job({ requested: 10 }) })).toEqual([]);
  });

  it('builds as many at once as there are slots, the earliest requests first', () => {
    const waiting = ['c', 'a', 'b'].map((id) =>
      revision(id, 'AWAITING_BUILD', { deploymentId: `of ${id}`, requested: id.charCodeAt(0) }),
    );
    expect(plan(waiting)).toEqual(['build a', 'build b']);
    expect(plan(waiting, { x: job() })).toEqual(['build a']);
  });

  it('lets tenants take turns, so that one with many builds does not delay the others', () => {
    const waiting = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((id) =>
      revision(id, 'AWAITING_BUILD', { deploymentId: `of ${id}`, tenantId: id.charAt(0) }),
    );
    expect(plan(waiting)).toEqual(['build a1', 'build b1']);
    expect(plan(waiting, { x: job() }, ['b', 'a'])).toEqual(['build c1']);
    expect(plan(waiting, {}, ['c', 'b', 'a'])).toEqual(['build c1', 'build b1']);
    expect(plan(waiting.slice(0, 3), {}, ['a'])).toEqual(['build a1', 'build a2']);
  });

  it('needs no slot to deploy, so a rollback does not wait for the builds of others', () => {
    const jobs = { x: job(), y: job() };
    expect(plan([revision('a', 'AWAITING_DEPLOY')], jobs)).toEqual(['deploy a']);
    expect(plan([revision('a', 'AWAITING_BUILD')], jobs)).toEqual([]);
  });

  it('never works on two revisions of a deployment', () => {
    const statuses: RevisionStatus[] = ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'AWAITING_DEPLOY'];
    for (const [one, other] of statuses.flatMap((one) => statuses.map((other) => [one, other] as const))) {
      const [first, ...rest] = plan([revision('a', one), revision('b', other)]);
      expect(first).toBe('skip a for b');
      expect(rest).toEqual([expect.stringMatching(/ b$/)]);
    }
  });
});
