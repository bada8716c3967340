import { expect, it } from 'vitest';

import type { Guarding } from '../../../src/domain/guard/guarding.ts';
import { guardRequestId } from '../../../src/domain/guard/guardPolicy.ts';
import { guardsAgain, takeReport } from '../../../src/domain/guard/targetGuard.ts';
import type { RollbackRequest } from '../../../src/domain/release/release.ts';
import { EMPTY_TARGET, type TargetState } from '../../../src/domain/target/targetState.ts';

const AT = '2026-11-25T10:00:00.000Z';
const WATCHING = { workflowId: 'guard:t/release-3', releaseId: 'release-3', revisionId: 'r3', until: AT };
const GUARDING: Guarding = {
  ...WATCHING,
  ended: { verdict: 'preempted', at: AT, note: '' },
  changedBy: 'release-4',
};
const REDEPLOY = { step: 'redeploy', status: 'done', restoring: true, at: AT, attempts: 1 } as never;
const PERSONS: RollbackRequest = { requestId: 'q', to: 'r3', requestedBy: { who: 'bo', from: 'cli' } };
const COUNTER: RollbackRequest = { ...PERSONS, requestedBy: { who: 'slipway', from: 'watch' } };

/** Whether it begins again after a restore of `serving`. */
function again(
  changes: Partial<Guarding> = {},
  {
    rollback = null,
    tried = true,
    serving = 'r3',
    preemptedBy = null,
    ...state
  }: {
    readonly rollback?: RollbackRequest | null;
    readonly tried?: boolean;
    readonly serving?: string | null;
    readonly preemptedBy?: RollbackRequest | null;
  } & Partial<TargetState> = {},
): boolean {
  const target = { ...EMPTY_TARGET, guard: { ...GUARDING, ...changes }, ...state };
  const ended = { servingRevisionId: serving, steps: tried ? [REDEPLOY] : [], preemptedBy };
  return guardsAgain(target, 't', ended, rollback);
}

it('a guard begins again if its revision, or a copy of it, serves after a release', () => {
  expect(again()).toBe(true);
  const known = [{ revisionId: 'copy', copyOf: 'r3', verified: true, at: AT }];
  expect(again({}, { serving: 'copy', known })).toBe(true);
  for (const serving of ['r4', null]) expect(again({}, { serving })).toBe(false);
});

it('a guard begins again after a rollback that changed nothing, or that countered a late revision', () => {
  expect(again({}, { rollback: PERSONS, tried: false })).toBe(true);
  expect(again({}, { rollback: COUNTER })).toBe(true);
  expect(again({}, { rollback: PERSONS })).toBe(false);
  expect(again({}, { preemptedBy: PERSONS })).toBe(false);
});

it('a guard that goes on, was canceled by a person, has passed, or whose rollback was accepted, does not begin again', () => {
  const end = (verdict: NonNullable<Guarding['ended']>['verdict']): Partial<Guarding> => ({
    ended: { verdict, at: AT, note: '' },
  });
  expect(again({ ended: undefined, changedBy: undefined })).toBe(false);
  for (const verdict of ['passed', 'canceled', 'unknown'] as const) expect(again(end(verdict))).toBe(false);
  for (const verdict of ['replaced', 'worse'] as const) expect(again(end(verdict))).toBe(true);
  const seenRequestIds = [guardRequestId('t', 'release-3')];
  expect(again(end('worse'), { seenRequestIds })).toBe(false);
  // Its rollback is still to come.
  expect(again({ ...end('worse'), changedBy: undefined })).toBe(false);
});

const WORSE = { releaseId: 'release-3', at: AT, verdict: 'worse', note: 'errors', since: 7 } as const;
const STATE: TargetState = {
  ...EMPTY_TARGET,
  guard: WATCHING,
  guarded: { since: 7 } as TargetState['guarded'],
};

it('a report ends the guard, and is recorded once, however often it comes', () => {
  const ended = takeReport(STATE, 't', WORSE, AT);
  expect(ended.guard?.ended).toMatchObject({ verdict: 'worse', note: 'errors' });
  expect(ended.said).toMatchObject([{ message: 'guard', by: { who: 'guard' } }]);
  expect(takeReport(ended, 't', WORSE, AT)).toBe(ended);
});

it('a person cancels a guard that asks for its rollback, unless the target has accepted that', () => {
  const asking = takeReport(STATE, 't', WORSE, AT);
  const canceled = { ...WORSE, verdict: 'canceled' } as const;
  expect(takeReport(asking, 't', canceled, AT).guard?.ended?.verdict).toBe('canceled');
  const accepted = { ...asking, seenRequestIds: [guardRequestId('t', 'release-3')] };
  expect(takeReport(accepted, 't', canceled, AT)).toBe(accepted);
});
