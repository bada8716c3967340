import { type Bound, newest } from './bounds.ts';
import { latenessAfter } from './lateRevisions.ts';
import { findQuarantined } from './quarantine.ts';
import type { KnownRevision, ReleaseResult, RollbackRequest } from './release.ts';
import { forTheWayBack, type TargetSpec } from './targetSpec.ts';
import { addHistory, type HistoryRow, type TargetState } from './targetState.ts';

const KNOWN: Bound = { items: 50, bytes: 150_000 };
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
    ...(result.code === null ? {} : { code: result.code }),
    revisionId: result.revisionId,
    servingRevisionId: result.servingRevisionId,
    requestedBy: result.requestedBy,
    endedAt: result.endedAt,
    rollbackRequestIds: satisfied.map((request) => request.requestId),
  };
  // Where it could not be told what serves, nothing may be taken for what serves.
  const unknown = result.outcome === 'errored' || result.outcome === 'rollback_failed';
  return addHistory(
    {
      ...state,
      activeRevisionId: result.servingRevisionId ?? (unknown ? null : state.activeRevisionId),
      known: mergeKnown(state, result.knownRevisions),
      rollbacks: state.rollbacks.filter((request) => !satisfied.includes(request)),
      hold: holdAfter(state, result, satisfied),
      drift: driftOf(state, result),
      needsPerson: needsPersonAfter(state, result),
      ...latenessAfter(state, result, watchMs),
    },
    row,
  );
}

/**
 * Keeps the settings under which something ended well, for the way back.
 *
 * @param newest - those of the newest request when it began; `null`: there was none.
 */
export function keepSettings(
  state: TargetState,
  { settingsWorked }: ReleaseResult,
  newest: TargetSpec | null,
): TargetState {
  if (settingsWorked !== true || newest === null) return state;
  return { ...state, lastGood: forTheWayBack(newest) };
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

/** A good revision serves again: then nobody is needed any longer, whoever put it there. */
function needsPersonAfter(
  { needsPerson }: TargetState,
  { releaseId, outcome, endedAt, instructions }: ReleaseResult,
): TargetState['needsPerson'] {
  if (instructions !== null) return { releaseId, since: endedAt, instructions };
  return outcome === 'released' || outcome === 'rolled_back' ? null : needsPerson;
}

/**
 * A release looks at what serves before it changes anything: that is when a change by hand is noticed. A revision of
 * ours that came up late is none.
 */
function driftOf(state: TargetState, { baseline, startedAt }: ReleaseResult): TargetState['drift'] {
  const expected = state.activeRevisionId;
  if (baseline === null || expected === null) return state.drift;
  const found = baseline.revisionId;
  const isOurs = [...state.late, ...state.extras].some(({ revisionId }) => revisionId === found);
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

/**
 * Known revisions, each once, in the order in which they were first known; the newest word on each counts. What came to
 * be known of an artifact in quarantine is in quarantine too.
 */
function mergeKnown(state: TargetState, news: readonly KnownRevision[]): readonly KnownRevision[] {
  const merged = new Map(state.known.map((revision) => [revision.revisionId, revision]));
  for (const revision of news) {
    const { artifact } = revision;
    const quarantined = artifact !== undefined && findQuarantined(state, artifact) !== undefined;
    merged.set(revision.revisionId, quarantined ? { ...revision, quarantined: true } : revision);
  }
  return newest([...merged.values()], KNOWN);
}
