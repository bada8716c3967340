import { type KnownRevision, type ReleaseResult, type RollbackRequest } from './release.ts';
import { addHistory, type HistoryRow, type LateRevision, type TargetState } from './targetState.ts';

const KNOWN_MAX = 50;
const LATE_MAX = 20;
/** The longest reason that a history row keeps: the whole one is in the record. */
const REASON_MAX_CHARACTERS = 1_000;

/**
 * Folds an ended release or rollback into the state: history, what serves, what is verified, which rollback requests
 * it satisfied, and which revisions are still to be watched.
 *
 * @param watchMs - how long a revision that was given up on is watched.
 */
export function recordResult(state: TargetState, result: ReleaseResult, watchMs: number): TargetState {
  const satisfied = satisfiedRollbacks(state, result);
  const row: HistoryRow = {
    releaseId: result.releaseId,
    kind: result.kind,
    requestKey: result.requestKey,
    artifact: result.artifact,
    commit: result.commit,
    outcome: result.outcome,
    reason: result.reason.slice(0, REASON_MAX_CHARACTERS),
    revisionId: result.revisionId,
    servingRevisionId: result.servingRevisionId,
    requestedBy: result.requestedBy,
    endedAt: result.endedAt,
    rollbackRequestIds: satisfied.map((request) => request.requestId),
  };
  const until = new Date(Date.parse(result.endedAt) + watchMs).toISOString();
  const { servingRevisionId, deploymentId } = result;
  const late =
    servingRevisionId === null || deploymentId === null
      ? []
      : result.givenUpRevisionIds
          .filter((revisionId) => revisionId !== servingRevisionId)
          .map((revisionId) => ({ revisionId, deploymentId, restoreTo: servingRevisionId, until }));
  const watched = state.late.filter(
    (other) =>
      other.revisionId !== servingRevisionId && !result.givenUpRevisionIds.includes(other.revisionId),
  );
  // Where it could not be told what serves, nothing may be taken for what serves.
  const unknown = result.outcome === 'errored' || result.outcome === 'rollback_failed';
  return addHistory(
    {
      ...state,
      activeRevisionId: servingRevisionId ?? (unknown ? null : state.activeRevisionId),
      known: mergeKnown(state.known, result.knownRevisions),
      rollbacks: state.rollbacks.filter((request) => !satisfied.includes(request)),
      hold: holdAfter(state, result, satisfied),
      drift: driftOf(state, result),
      late: [...watched, ...late].slice(-LATE_MAX),
    },
    row,
  );
}

/** A rollback that changed nothing, because there was nothing to go back to, leaves no hold behind either. */
function holdAfter(
  { hold }: TargetState,
  { kind, outcome }: ReleaseResult,
  satisfied: readonly RollbackRequest[],
): TargetState['hold'] {
  const changedNothing = kind === 'rollback' && outcome === 'failed';
  const isItsHold = satisfied.some((request) => request.requestId === hold?.requestId);
  return changedNothing && isItsHold ? null : hold;
}

/**
 * A release looks at what serves before it changes anything: that is when a change by hand is noticed. A revision of
 * ours that came up late is none.
 */
function driftOf(state: TargetState, { baseline, startedAt }: ReleaseResult): TargetState['drift'] {
  const expected = state.activeRevisionId;
  if (baseline === null || expected === null) return state.drift;
  const found = baseline.revisionId;
  const isOurs = state.late.some((late) => late.revisionId === found);
  return found === expected || isOurs ? null : { at: startedAt, expected, found };
}

/**
 * The rollbacks that a result settles. A rollback settles the first one, whatever came of it: a rollback is never
 * tried again by itself. A release settles those that it was stopped for, unless it had become `released` before
 * the word reached it, ended without a word, or never tried the revision that is named.
 */
function satisfiedRollbacks(state: TargetState, result: ReleaseResult): readonly RollbackRequest[] {
  if (result.kind === 'rollback') return state.rollbacks.slice(0, 1);
  const unknown = result.outcome === 'errored' && result.servingRevisionId === null;
  if (result.outcome === 'released' || unknown) return [];
  const tried = result.steps
    .filter((step) => step.restoring && step.step === 'redeploy')
    .map((step) => step.subject);
  return state.rollbacks.filter(
    ({ to }) => to === undefined || to === result.servingRevisionId || tried.includes(to),
  );
}

/** A revision that was given up on came up after all: what served before goes back, without a hold. */
export function counterLateRevision(state: TargetState, late: LateRevision, requestId: string): TargetState {
  const request: RollbackRequest = {
    requestId,
    to: state.activeRevisionId ?? late.restoreTo,
    requestedBy: {
      who: 'slipway',
      from: 'watch',
      reason: `revision ${late.revisionId} came up after it was given up on`,
    },
  };
  return { ...forgetLateRevision(state, late), rollbacks: [...state.rollbacks, request] };
}

/** There is nothing more to expect of a revision that was given up on. */
export function forgetLateRevision(state: TargetState, late: LateRevision): TargetState {
  return { ...state, late: state.late.filter((other) => other.revisionId !== late.revisionId) };
}

/** Known revisions, each once, in the order in which they were first known; the newest word on each counts. */
function mergeKnown(
  known: readonly KnownRevision[],
  news: readonly KnownRevision[],
): readonly KnownRevision[] {
  const merged = new Map(known.map((revision) => [revision.revisionId, revision]));
  for (const revision of news) merged.set(revision.revisionId, revision);
  return [...merged.values()].slice(-KNOWN_MAX);
}
