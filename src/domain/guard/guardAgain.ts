import { isSameRevision } from '../deployment/revision.ts';
import type { ReleaseResult, RollbackRequest } from '../release/release.ts';
import { isCounter } from '../target/lateRevisions.ts';
import type { TargetState } from '../target/targetState.ts';
import { isInForce } from './guarding.ts';
import { guardRequestId } from './guardPolicy.ts';

/** How a release or a rollback ended. */
type Ended = Pick<ReleaseResult, 'servingRevisionId' | 'steps' | 'preemptedBy'>;

/**
 * Whether a guard begins again after a release or a rollback: what it guards still serves, or was restored automatically,
 * and the guard had come neither to its end nor to a rollback. A person who restores it or cancels its guard decides
 * without the guard.
 * @param rollback - the rollback's request; `null` for a release.
 */
export function guardsAgain(
  { guard, known, seenRequestIds }: TargetState,
  targetId: string,
  { servingRevisionId: serving, steps, preemptedBy }: Ended,
  rollback: RollbackRequest | null,
): boolean {
  if (guard?.ended === undefined || isInForce(guard) || serving === null) return false;
  const { verdict } = guard.ended;
  if (verdict === 'passed' || verdict === 'canceled' || verdict === 'unknown') return false;
  if (seenRequestIds.includes(guardRequestId(targetId, guard.releaseId))) return false;
  const asked = rollback ?? preemptedBy;
  const isPersons = asked !== null && !isCounter(asked) && steps.some(({ step }) => step === 'redeploy');
  return !isPersons && isSameRevision(known, serving, guard.revisionId);
}
