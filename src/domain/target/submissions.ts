import type { Actor } from '../actor.ts';
import { type Bound, newest } from '../bounds.ts';
import type { ReleaseRequest } from '../release/release.ts';
import {
  type Answered,
  rejectWithdrawn,
  submitRelease,
  withdrawnBy,
  withdrawReleases,
} from './targetQueue.ts';
import type { Running, Submission, TargetState } from './targetState.ts';

const SUBMISSIONS: Bound = { items: 100, bytes: 50_000 };

/** Handles a submission. A repeated one gets its old answer, and one that was withdrawn earlier is rejected. */
export function takeSubmission(
  state: TargetState,
  running: Running | null,
  id: string,
  request: ReleaseRequest,
  now: string,
): Answered {
  const before = find(state, id);
  if (before?.answer !== undefined) return { state, answer: before.answer };
  const by = before?.withdrawnBy;
  const taken =
    by === undefined ? submitRelease(state, running, request, now) : rejectWithdrawn(state, request, by, now);
  return { state: note(taken.state, { ...before, id, answer: taken.answer }), answer: taken.answer };
}

export interface Withdrawal {
  readonly state: TargetState;
  /** The submission's release; `null` if the submission has not arrived. */
  readonly releaseId: string | null;
  /** Whether that release runs and must be aborted. */
  readonly stops: boolean;
  readonly note: string;
}

/**
 * Withdraws a submission that has arrived or will, with those of the runs after a reset, whose ids continue its id. Their
 * release ends, unless another submission joined it.
 */
export function withdrawSubmission(
  state: TargetState,
  running: Running | null,
  id: string,
  by: Actor,
  now: string,
): Withdrawal {
  const own = find(state, id) ?? { id };
  const all = [own, ...state.submissions.filter((other) => other.id.startsWith(`${id} `))];
  const noted = all.reduce((so, each) => note(so, { withdrawnBy: by, ...each }), state);
  const releaseId = all.findLast(({ answer }) => answer !== undefined)?.answer?.releaseId;
  if (releaseId === undefined) {
    return { state: noted, releaseId: null, stops: false, note: 'it will be rejected when it arrives' };
  }
  const waits = state.queue.some((queued) => queued.releaseId === releaseId);
  const stops = running?.releaseId === releaseId;
  const withdrawal = { state: noted, releaseId, stops: false };
  if (!waits && !stops) return { ...withdrawal, note: `${releaseId} has ended` };
  if (withdrawnBy(noted, releaseId) === undefined) {
    return { ...withdrawal, note: `${releaseId} continues: another submission has joined it` };
  }
  if (stops) return { ...withdrawal, stops, note: `${releaseId} is stopped` };
  const { state: emptied } = withdrawReleases(noted, releaseId, by, now);
  return { ...withdrawal, state: emptied, note: `${releaseId} is withdrawn` };
}

function find({ submissions }: TargetState, id: string): Submission | undefined {
  return submissions.find((submission) => submission.id === id);
}

function note(state: TargetState, submission: Submission): TargetState {
  const others = state.submissions.filter(({ id }) => id !== submission.id);
  return { ...state, submissions: newest([...others, submission], SUBMISSIONS) };
}
