import type { Instant } from '../scalars.ts';
import { noteAccepted, type TargetState } from '../target/targetState.ts';
import { guardActor, guardRequestId } from './guardPolicy.ts';
import { endGuard, type GuardMessage, guardText } from './guarding.ts';

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
