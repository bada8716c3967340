import { type Bound, newest } from '../bounds.ts';
import { isSameRevision, leaveRevision } from '../deployment/revision.ts';
import { revisionText, wordsOf } from '../deployment/revisionName.ts';
import { isInForce } from '../guard/guarding.ts';
import type { KnownRevision, Preemption, RollbackRequest } from '../release/release.ts';
import { isQuarantined, previousVerified } from '../restore/restoreDecision.ts';
import { isCounter } from '../target/lateRevisions.ts';
import { rejectWaiting } from '../target/targetQueue.ts';
import type { Lookup, RollbackAnswer, Running, TargetState } from '../target/targetState.ts';

const SEEN: Bound = { items: 100, bytes: 50_000 };
const ANSWERS: Bound = { items: 20, bytes: 30_000 };
const ROLLBACKS_MAX = 10;
/** For this long after a restore, an unnamed rollback without `from` counts as a repetition of the one before. */
const JUST_RESTORED_MS = 60_000;

export interface RollbackTaken {
  readonly state: TargetState;
  readonly answer: RollbackAnswer;
  /** The signal to the running release. */
  readonly preempt?: Preemption;
}

export interface RollbackSituation {
  readonly state: TargetState;
  readonly running: Running | null;
  /** ISO 8601. */
  readonly now: string;
  /** The active revision that the control plane just reported; `null` if none; absent if not known. */
  readonly active?: string | null;
}

/** Whether the answer depends on what serves: no revision is named, and no running work settles it. */
export function dependsOnWhatServes(
  { state, running }: Pick<RollbackSituation, 'state' | 'running'>,
  { requestId, to, from }: RollbackRequest,
): boolean {
  if (to !== undefined || state.seenRequestIds.includes(requestId) || state.spec === null) return false;
  return from !== undefined || (state.rollbacks.length === 0 && running?.restores === undefined);
}

/**
 * Handles a rollback request (design, "What restoring means"). It goes first, rejects all waiting releases, and sets
 * a hold. An unnamed rollback leaves the revision that serves, which is then restored only by name.
 */
export function requestRollback(situation: RollbackSituation, asked: RollbackRequest): RollbackTaken {
  const { state } = situation;
  if (state.seenRequestIds.includes(asked.requestId)) {
    const serves = servesAfter(situation, asked);
    return answered(state, asked, 'joined', 'this request was accepted before', serves);
  }
  if (state.spec === null) return ignored(situation, asked, 'this target has never taken a release');
  if (asked.guard !== undefined) {
    const reason = whyUnguarded(situation, asked.guard, asked.from);
    if (reason !== undefined) return ignored(situation, asked, reason);
  }
  if (asked.ifServing === true && asked.from !== undefined && isReplaced(situation, asked.from))
    return ignored(situation, asked, `revision ${asked.from} does not serve any more`);
  const { to, ...unnamed } = asked;
  if (to === undefined) return leave(situation, asked);
  // A revision that a promotion chose is not a person's choice.
  if (asked.from === undefined) return goTo(situation, asked);
  if (isQuarantined(state.known, to)) return leave(situation, unnamed);
  if (!isReplaced(situation, asked.from)) return goTo(situation, asked);
  // What replaced a promotion's revision stays, and needs no hold.
  return answered(state, asked, 'done', leftAlready(asked.from), state.activeRevisionId);
}

/** Whether another revision serves. While work runs, only the control plane knows. */
function isReplaced({ state, running, active }: RollbackSituation, revisionId: string): boolean {
  const serves = active === undefined && running === null ? state.activeRevisionId : active;
  return typeof serves === 'string' && !isSameRevision(state.known, serves, revisionId);
}

function leftAlready(revisionId: string): string {
  return `done already, revision ${revisionId} does not serve any more`;
}

/** Why the guard of a release cannot ask for a rollback; `undefined` if it can: what it guards serves, unchanged. */
function whyUnguarded(
  { state, active }: RollbackSituation,
  releaseId: string,
  from: string | undefined,
): string | undefined {
  if (state.rollbacks.length > 0) return 'a rollback is about to begin';
  const guard = state.guard?.releaseId === releaseId ? state.guard : undefined;
  if (guard?.changedBy !== undefined) return `${guard.changedBy} has begun since`;
  if (!isInForce(guard)) return `the guard of ${releaseId} is not in force any more`;
  const serves = active === undefined ? state.activeRevisionId : active;
  if (from === undefined || serves === null || !isSameRevision(state.known, serves, from))
    return 'the guarded revision does not serve any more';
  return undefined;
}

/** Handles an unnamed rollback. */
function leave(situation: RollbackSituation, asked: RollbackRequest): RollbackTaken {
  const { state, running, active } = situation;
  if (asked.from === undefined) {
    const settled = settledAlready(situation, asked);
    if (settled !== undefined) return settled;
  }
  const believed = running === null ? state.activeRevisionId : null;
  const from = asked.from ?? (active === undefined ? believed : active) ?? undefined;
  if (from === undefined) return take(situation, asked);

  const same = state.rollbacks.find(
    (other) => other.from !== undefined && !isCounter(other) && isSameRevision(state.known, other.from, from),
  );
  if (same !== undefined) return join(situation, asked, same);
  const all = leaveRevision(state.known, from, situation.now, state.activeRevisionId ?? undefined);
  const known = asked.hold === false ? barRevision(all, from) : all;
  const left = { ...situation, state: { ...state, known } };
  const servesAnother = typeof active === 'string' && !isSameRevision(known, active, from);
  if (servesAnother && !isBeingRestored(situation, from)) {
    const done = answered(hold(left, asked), asked, 'done', leftAlready(from), active);
    return { ...done, ...neverRestore(running, { ...asked, from }) };
  }
  const to = previousVerified(known, from);
  return goTo(left, { ...asked, from, to });
}

/** Whether the rollback that runs is restoring a revision, which the target chose before a person asked to leave it. */
function isBeingRestored({ state, running }: RollbackSituation, revisionId: string): boolean {
  const { to, from } = state.rollbacks[0] ?? {};
  if (running?.kind !== 'rollback' || to === undefined || from === undefined) return false;
  return isSameRevision(state.known, to, revisionId);
}

/** Without a hold, a promotion could release again what a rollback leaves. */
function barRevision(known: readonly KnownRevision[], revisionId: string): readonly KnownRevision[] {
  return known.map((revision): KnownRevision =>
    isSameRevision(known, revision.revisionId, revisionId) ? { ...revision, barred: true } : revision,
  );
}

/** Answers a request with neither `to` nor `from` during or right after a restore. */
function settledAlready(situation: RollbackSituation, asked: RollbackRequest): RollbackTaken | undefined {
  const { state, running, active, now } = situation;
  const underWay = state.rollbacks.at(-1);
  if (underWay !== undefined) return join(situation, asked, underWay);
  if (running?.restores !== undefined) {
    const reason = `${running.releaseId} is restoring an earlier revision already`;
    return answered(state, asked, 'joined', reason, running.restores, running.releaseId);
  }
  const row = state.history.findLast(({ restored }) => restored === true);
  const serving = row?.servingRevisionId ?? null;
  if (row === undefined || serving === null) return undefined;
  if (Date.parse(now) - Date.parse(row.endedAt) >= JUST_RESTORED_MS) return undefined;
  if (active !== undefined && (active === null || !isSameRevision(state.known, active, serving)))
    return undefined;
  const reason = `done already, ${row.releaseId} has just restored an earlier revision; to leave that one, too, name another, or ask again in a minute`;
  return answered(state, asked, 'done', reason, serving);
}

/**
 * Handles a rollback to one revision that a person named or the target chose. If a person named it, it joins none for which the
 * target chose: that one may end with another revision.
 */
function goTo(situation: RollbackSituation, request: RollbackRequest): RollbackTaken {
  const { state } = situation;
  const { to, from } = request;
  const same = state.rollbacks.find(
    (other) => to !== undefined && other.to === to && (from !== undefined || other.from === undefined),
  );
  return same === undefined ? take(situation, request) : join(situation, request, same);
}

function join(situation: RollbackSituation, asked: RollbackRequest, other: RollbackRequest): RollbackTaken {
  const { running } = situation;
  const { requestId } = other;
  const serves = servesAfter(situation, other);
  // One by a guard or a hook may have set no hold, or a person may have ended it since.
  const holds = asked.hold !== false && (other.hold === false || situation.state.hold === null);
  const state = holds ? hold(situation, { ...asked, requestId }) : situation.state;
  const joined = answered(state, asked, 'joined', 'the same rollback is running', serves, requestId);
  return { ...joined, ...neverRestore(running, asked) };
}

/** The signal to a release that goes on, or already restores: the revision that it must never restore. */
function neverRestore(running: Running | null, asked: RollbackRequest): Pick<RollbackTaken, 'preempt'> {
  if (running?.kind !== 'release' || asked.from === undefined) return {};
  return { preempt: { ...asked, goesOn: true } };
}

function take(situation: RollbackSituation, request: RollbackRequest): RollbackTaken {
  const { state, running } = situation;
  if (state.rollbacks.length >= ROLLBACKS_MAX)
    return ignored(situation, request, 'too many rollbacks are waiting');
  const taken: TargetState = { ...hold(situation, request), rollbacks: [...state.rollbacks, request] };
  const serves = request.to ?? null;
  if (running?.kind !== 'release') return answered(taken, request, 'queued', 'starting', serves);
  const isKnown = serves === null || state.known.some(({ revisionId }) => revisionId === serves);
  const reason = `${running.releaseId} is being stopped${isKnown ? '' : ', or only its soak ends, if the revision is its own'}`;
  return { ...answered(taken, request, 'preempting', reason, serves), preempt: request };
}

/** Rejects waiting releases and, by default, sets the hold, so that none deploys again what a person leaves. */
function hold({ state, now }: RollbackSituation, request: RollbackRequest): TargetState {
  const { requestId, requestedBy: by } = request;
  const rejected = rejectWaiting(state, 'a manual rollback', by, now, () => true);
  if (request.hold === false) return seen(rejected, request);
  return { ...seen(rejected, request), hold: state.hold ?? { since: now, by, requestId } };
}

function ignored(
  { state, active = state.activeRevisionId }: RollbackSituation,
  request: RollbackRequest,
  reason: string,
): RollbackTaken {
  return { ...answered(state, request, 'ignored', reason, active), state };
}

/**
 * The answer to a request, which then counts as seen.
 * @param requestId - the request to follow.
 */
function answered(
  state: TargetState,
  asked: RollbackRequest,
  disposition: RollbackAnswer['disposition'],
  why: string,
  revisionId: string | null,
  requestId = asked.requestId,
): RollbackTaken {
  const serves = revisionId === null ? null : wordsOf(state, revisionId);
  const verb = disposition === 'done' || disposition === 'ignored' ? 'serves' : 'will serve';
  const reason = serves === null ? why : `${why}; ${revisionText(serves)} ${verb}`;
  const answer = { requestId, disposition, reason, serves, onHold: state.hold !== null };
  return { state: seen(state, asked), answer };
}

/** What a repeated request leads to, or has led to. */
function servesAfter({ state }: RollbackSituation, { requestId }: RollbackRequest): string | null {
  const waiting = state.rollbacks.find((other) => other.requestId === requestId);
  if (waiting !== undefined) return waiting.to ?? null;
  const row = state.history.findLast(({ rollbackRequestIds }) => rollbackRequestIds.includes(requestId));
  return row?.servingRevisionId ?? state.activeRevisionId;
}

function seen(state: TargetState, { requestId }: RollbackRequest): TargetState {
  if (state.seenRequestIds.includes(requestId)) return state;
  return { ...state, seenRequestIds: newest([...state.seenRequestIds, requestId], SEEN) };
}

/** Keeps the first answer to a request, for a sender that did not wait for it. */
export function keepAnswer(state: TargetState, requestId: string, lookup: Lookup): TargetState {
  if (firstAnswer(state, requestId) !== undefined) return state;
  const rollbackAnswers = newest([...(state.rollbackAnswers ?? []), { requestId, lookup }], ANSWERS);
  return { ...state, rollbackAnswers };
}

export function firstAnswer({ rollbackAnswers }: TargetState, requestId: string): Lookup | undefined {
  return rollbackAnswers?.find((answer) => answer.requestId === requestId)?.lookup;
}
