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
    expect(nextStatus('CREATING', 'createFailed')).toBe('CREATE_FAILED');
    expect(nextStatus('BUILDING', 'buildFailed')).toBe('BUILD_FAILED');
    expect(nextStatus('DEPLOYING', 'deployFailed')).toBe('DEPLOY_FAILED');
  });

  it('are each waiting, in progress, or settled, and nothing else', () => {
    for (const status of REVISION_STATUSES) {
      const kinds = [isWaiting(status), isInProgress(status), isSettled(status)].filter(Boolean);
      expect(kinds, status).toHaveLength(1);
    }
  });

  it('can always be reached, and from every one that is not settled a settled one can be reached', () => {
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

  it('let what waits be superseded, and never what is in progress', () => {
    for (const status of REVISION_STATUSES) {
      expect(nextStatus(status, 'superseded'), status).toBe(isWaiting(status) ? 'SKIPPED' : undefined);
    }
  });

  it('go back to the last durable step when the platform stopped half way', () => {
    expect(nextStatus('BUILDING', 'takenUpAgain')).toBe('AWAITING_BUILD');
    expect(nextStatus('DEPLOYING', 'takenUpAgain')).toBe('AWAITING_DEPLOY');
    expect(nextStatus('DEPLOYED', 'takenUpAgain')).toBeUndefined();
  });

  it('leave DEPLOYED only by a redeploy, which settled ones alone take', () => {
    expect(TRANSITIONS.DEPLOYED).toEqual({ redeployRequested: 'AWAITING_DEPLOY' });
    for (const status of REVISION_STATUSES) {
      if (!isSettled(status)) expect(nextStatus(status, 'redeployRequested'), status).toBeUndefined();
    }
  });
});
