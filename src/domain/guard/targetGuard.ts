import { isSameRevision } from '../deployment/revision.ts';
import type { ReleaseResult, RollbackRequest } from '../release/release.ts';
import type { Instant } from '../scalars.ts';
import { isCounter } from '../target/lateRevisions.ts';
import { noteAccepted, type TargetState } from '../target/targetState.ts';
import { endGuard, type GuardMessage, guardText, isInForce } from './guarding.ts';
import { guardActor, guardRequestId } from './guardPolicy.ts';

/** The state after a guard's report; the same if the report says nothing new, or if its cancellation came too late. */
export function takeReport(
  state: TargetState,
  targetId: string,
  report: GuardMessage,
  at: Instant,
): TargetState {
  const { releaseId, verdict, note } = report;
  const isAccepted = state.seenRequestIds.includes(guardRequestId(targetId, releaseId));
  if (verdict === 'canceled' && isAccepted) return state;
  const guard = endGuard(state, report);
  if (guard === undefined || guard === state.guard) return state;
  const by = guardActor(releaseId, note);
  return noteAccepted({ ...state, guard }, { at, message: 'guard', by, note: guardText(guard) });
}

/**
 * Whether a guard begins again after a release or a rollback: what it guards still serves, or was restored automatically,
 * and the guard had come neither to its end nor to a rollback. A person who restores it or cancels its guard decides
 * without the guard.
 * @param rollback - the rollback's request; `null` for a release.
 */
export function guardsAgain(
  { guard, known, seenRequestIds }: TargetState,
  targetId: string,
  {
    servingRevisionId: serving,
    steps,
    preemptedBy,
  }: Pick<ReleaseResult, 'servingRevisionId' | 'steps' | 'preemptedBy'>,
  rollback: RollbackRequest | null,
): boolean {
  if (guard?.ended === undefined || isInForce(guard) || serving === null) return false;
  const { verdict } = guard.ended;
  if (verdict === 'passed' || verdict === 'canceled' || verdict === 'unknown') return false;
  if (seenRequestIds.includes(guardRequestId(targetId, guard.releaseId))) return false;
  return (
    !isRestoredByName(rollback ?? preemptedBy, steps) && isSameRevision(known, serving, guard.revisionId)
  );
}

/** Whether a person, a guard or a hook chose what serves: only what Slipway restores by itself is guarded again. */
export function isRestoredByName(asked: RollbackRequest | null, steps: ReleaseResult['steps']): boolean {
  return asked !== null && !isCounter(asked) && steps.some(({ step }) => step === 'redeploy');
}
