import { pick } from '@slipway/contract/pick';

import { restoreSpanOf } from '../delivery/restoreSpan.ts';
import { isAnother, isSameRevision, keepKnown, namedRevision, originalOf } from '../deployment/revision.ts';
import { stepOfSkip } from '../intervention/standing.ts';
import { needsPerson } from '../release/outcome.ts';
import {
  ENDED_FIELDS,
  type KnownRevision,
  type ReleaseResult,
  type RollbackRequest,
} from '../release/release.ts';
import { foundLate, latenessAfter } from './lateRevisions.ts';
import { findQuarantined } from './quarantine.ts';
import { settingsForRestore, type TargetSpec } from './targetSpec.ts';
import { addHistory, type HistoryRow, type TargetState } from './targetState.ts';

/** The longest reason in a history row. The record has all of it. */
const REASON_MAX_CHARACTERS = 1_000;

/**
 * Applies the result of a release or a rollback to the state.
 * @param watchMs - how long to watch late revisions.
 */
export function recordResult(state: TargetState, result: ReleaseResult, watchMs: number): TargetState {
  const satisfied = satisfiedRollbacks(state, result);
  const row: HistoryRow = {
    ...pick(result, ...ENDED_FIELDS, 'requestKey', 'startedAt', 'deploymentId'),
    reason: result.reason.slice(0, REASON_MAX_CHARACTERS),
    code: result.code ?? undefined,
    restore: restoreSpanOf(result),
    rollbackRequestIds: satisfied.map((request) => request.requestId),
    restored: hasRestored(result) || undefined,
    skippedChecks: skippedChecks(result),
  };
  // If it is unknown what serves, the state must not name any revision.
  const unknown = needsPerson(result.outcome);
  const meant = foundLate(state, result) ? { ...result, servingRevisionId: null } : result;
  return addHistory(
    {
      ...state,
      activeRevisionId: meant.servingRevisionId ?? (unknown ? null : state.activeRevisionId),
      lastGood: goodFor(state.lastGood, result),
      known: mergeKnown(state, result, satisfied),
      rollbacks: state.rollbacks.filter((request) => !satisfied.includes(request)),
      hold: holdAfter(state, result, satisfied),
      drift: driftOf(state, result),
      needsPerson: needsPersonAfter(state, result),
      // A release claims its deployment before it changes it.
      owns: result.deploymentId ?? state.owns,
      ...latenessAfter(state, meant, watchMs),
    },
    row,
  );
}

function skippedChecks({ interventions }: ReleaseResult): readonly string[] | undefined {
  const skipped = interventions.flatMap(({ kind, what, taken }) =>
    kind === 'skip' && taken && what !== undefined && stepOfSkip(what) === 'check' ? [what] : [],
  );
  return skipped.length === 0 ? undefined : skipped;
}

/** The last settings that worked, unless `slipway.yaml` names another deployment since, and a release has claimed it. */
function goodFor(lastGood: TargetSpec | null, { deploymentId }: ReleaseResult): TargetSpec | null {
  return isAnother(deploymentId, lastGood?.deploymentId) ? null : lastGood;
}

/** Keeps the settings that worked, for the next restore. `newest`: the newest request's settings when it began. */
export function keepSettings(
  state: TargetState,
  { settingsWorked }: ReleaseResult,
  newest: TargetSpec | null,
): TargetState {
  if (settingsWorked !== true || newest === null) return state;
  return { ...state, lastGood: settingsForRestore(newest) };
}

/** A rollback that changed nothing leaves no hold. If another one waits, the hold becomes that one's. */
function holdAfter(
  { hold, rollbacks }: TargetState,
  { kind, outcome }: ReleaseResult,
  satisfied: readonly RollbackRequest[],
): TargetState['hold'] {
  const changedNothing = kind === 'rollback' && outcome === 'failed';
  const isItsHold = satisfied.some((request) => request.requestId === hold?.requestId);
  if (hold === null || !changedNothing || !isItsHold) return hold;
  const next = rollbacks.find((request) => !satisfied.includes(request) && request.hold !== false);
  return next === undefined ? null : { ...hold, by: next.requestedBy, requestId: next.requestId };
}

/** No person is needed any longer if a good revision serves, no matter who restored it. */
function needsPersonAfter({ needsPerson }: TargetState, result: ReleaseResult): TargetState['needsPerson'] {
  const { releaseId, outcome, endedAt, instructions, servingVerified } = result;
  if (instructions !== null) return { releaseId, since: endedAt, instructions };
  const isGood = outcome === 'released' || outcome === 'rolled_back';
  return isGood || (hasRestored(result) && servingVerified) ? null : needsPerson;
}

/** A release that finds an unexpected revision detects a change by hand, unless that is a late one of ours. */
function driftOf(state: TargetState, { baseline, startedAt }: ReleaseResult): TargetState['drift'] {
  const expected = state.activeRevisionId;
  if (baseline === null || expected === null) return state.drift;
  const found = baseline.revisionId;
  const isOurs = [...state.late, ...state.extras].some(({ revisionId }) => revisionId === found);
  return found === expected || isOurs ? null : { at: startedAt, expected, found };
}

/** Whether a redeploy succeeded and the release or rollback did not fail in the end. */
function hasRestored({ steps, outcome, servingRevisionId }: ReleaseResult): boolean {
  if (outcome === 'rollback_failed' || servingRevisionId === null) return false;
  return steps.some(({ step, status }) => step === 'redeploy' && status === 'done');
}

/**
 * The rollbacks that a result settles.
 * - A rollback settles the first one, with any outcome. If it ends well, it also settles those after it by which people named
 *   the revision that serves.
 * - A release settles the one it was stopped for, if it restored anything. It also settles each one whose goal is reached: the
 *   named revision serves, or, unless it was released, the left one does not.
 *
 * One that comes after an unsettled one is not settled: that one changes what serves.
 */
function satisfiedRollbacks(state: TargetState, result: ReleaseResult): readonly RollbackRequest[] {
  if (result.kind === 'rollback') return settledByRollback(state, result);
  const { outcome, servingRevisionId: serving, steps, preemptedBy } = result;
  if (outcome === 'errored' && serving === null) return [];
  const known = [...state.known, ...result.knownRevisions];
  const serves = (revisionId: string): boolean =>
    serving !== null && isSameRevision(known, serving, revisionId);
  const tried = steps.some(({ step }) => step === 'redeploy');
  const served = steps.some(
    ({ restoring, step, status }) => !restoring && step === 'serving' && status === 'done',
  );
  const isSettled = ({ requestId, to, from }: RollbackRequest): boolean => {
    if (outcome === 'released') return from === undefined && to !== undefined && serves(to);
    const isItsStop = requestId === preemptedBy?.requestId;
    if (tried && isItsStop && to !== undefined) return true;
    if (from !== undefined) return serving !== null && !serves(from);
    if (to !== undefined) return serves(to);
    // The revision to leave could not be read: it was the release's own if that served, else the one it restored.
    return tried && (served || !isItsStop);
  };
  const open = state.rollbacks.findIndex((request) => !isSettled(request));
  return open === -1 ? state.rollbacks : state.rollbacks.slice(0, open);
}

function settledByRollback(
  { known, rollbacks }: TargetState,
  { outcome, servingRevisionId: serving, servingVerified, knownRevisions }: ReleaseResult,
): readonly RollbackRequest[] {
  const all = [...known, ...knownRevisions];
  const isReached = (request: RollbackRequest): boolean => {
    const named = namedRevision(request);
    if (named === undefined || serving === null || !servingVerified) return false;
    return outcome === 'rolled_back' && isSameRevision(all, named, serving);
  };
  const open = rollbacks.findIndex((request, index) => index > 0 && !isReached(request));
  return open === -1 ? rollbacks : rollbacks.slice(0, open);
}

/**
 * The known revisions, in the order in which they were first known, with the newest facts. A revision with a
 * quarantined artifact, or from which a person rolled back, stays quarantined with its copies until a person restores
 * it by name. Those of a deployment that another one replaced are forgotten.
 */
function mergeKnown(
  state: TargetState,
  { knownRevisions, servingRevisionId, deploymentId }: ReleaseResult,
  satisfied: readonly RollbackRequest[],
): readonly KnownRevision[] {
  const before = isAnother(deploymentId, state.owns) ? [] : state.known;
  const merged = new Map(before.map((revision) => [revision.revisionId, revision]));
  for (const revision of knownRevisions) merged.set(revision.revisionId, revision);
  const all = [...merged.values()];
  const left = new Set(
    [...before, ...knownRevisions]
      .filter(({ quarantined }) => quarantined === true)
      .map(({ revisionId }) => originalOf(all, revisionId)),
  );
  for (const { to, from } of satisfied) {
    if (to === undefined || from !== undefined || servingRevisionId === null) continue;
    if (isSameRevision(all, to, servingRevisionId)) left.delete(originalOf(all, to));
  }
  return keepKnown(
    all.map((known): KnownRevision => {
      const { quarantined: _, barred: _1, ...revision } = known;
      const { artifact, revisionId } = revision;
      const isQuarantined = artifact !== undefined && findQuarantined(state, artifact) !== undefined;
      return isQuarantined || left.has(originalOf(all, revisionId))
        ? { ...known, quarantined: true }
        : revision;
    }),
  );
}
