import { describe, expect, it } from 'vitest';

import {
  isInProgress,
  isSettled,
  isWaiting,
  nextStatus,
  REVISION_STATUSES,
  TRANSITIONS,
  type RevisionEvent,
  type RevisionStatus,
} from '../../src/controlPlane/revisionStates.ts';

const follow = (from: RevisionStatus, ...events: RevisionEvent[]): RevisionStatus | undefined =>
  events.reduce<RevisionStatus | undefined>((status, event) => status && nextStatus(status, event), from);

describe('the statuses of a revision', () => {
  it('lead from CREATING to DEPLOYED', () => {
    expect(
      follow('CREATING', 'created', 'admitted', 'buildStarted', 'built', 'deployStarted', 'deployed'),
    ).toBe('DEPLOYED');
  });

  it('fail at the stage that failed', () => {
    expect(nextStatus('BUILDING', 'buildFailed')).toBe('BUILD_FAILED');
    expect(nextStatus('DEPLOYING', 'deployFailed')).toBe('DEPLOY_FAILED');
  });

  it('are each waiting, in progress, or settled', () => {
    for (const status of REVISION_STATUSES) {
      const kinds = [isWaiting(status), isInProgress(status), isSettled(status)].filter(Boolean);
      expect(kinds, status).toHaveLength(1);
    }
  });

  it('are all reachable, and each leads to a settled one', () => {
    const reachable = new Set<RevisionStatus>(['CREATING']);
    for (const status of reachable) {
      for (const next of Object.values(TRANSITIONS[status])) reachable.add(next);
    }
    expect([...reachable].sort()).toEqual([...REVISION_STATUSES].sort());
    for (const status of REVISION_STATUSES.filter((each) => !isSettled(each))) {
      const from = new Set<RevisionStatus>([status]);
      for (const each of from) for (const next of Object.values(TRANSITIONS[each])) from.add(next);
      expect([...from].some(isSettled), status).toBe(true);
    }
  });

  it('let a waiting revision be superseded, never one in progress', () => {
    for (const status of REVISION_STATUSES) {
      expect(nextStatus(status, 'superseded'), status).toBe(isWaiting(status) ? 'SKIPPED' : undefined);
    }
  });

  it('return to the last durable step if the platform stopped during a step', () => {
    expect(nextStatus('BUILDING', 'takenUpAgain')).toBe('AWAITING_BUILD');
    expect(nextStatus('DEPLOYING', 'takenUpAgain')).toBe('AWAITING_DEPLOY');
    expect(nextStatus('DEPLOYED', 'takenUpAgain')).toBeUndefined();
  });

  it('leave DEPLOYED only by a redeploy, which only settled ones accept', () => {
    expect(TRANSITIONS.DEPLOYED).toEqual({ redeployRequested: 'AWAITING_DEPLOY' });
    for (const status of REVISION_STATUSES) {
      if (!isSettled(status)) expect(nextStatus(status, 'redeployRequested'), status).toBeUndefined();
    }
  });
});
