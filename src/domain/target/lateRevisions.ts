import { type Bound, newest } from '../bounds.ts';
import type { DeploymentSnapshot } from '../deployment/revision.ts';
import type { ReleaseResult, RollbackRequest } from '../release/release.ts';
import { isQuarantined } from '../restore/restoreDecision.ts';
import type { ExtraRevision, LateRevision, LateUpload, TargetState } from './targetState.ts';

const LATE: Bound = { items: 20, bytes: 20_000 };
const LATE_UPLOADS: Bound = { items: 5, bytes: 20_000 };
const EXTRAS: Bound = { items: 10, bytes: 10_000 };

/** The late revisions and uploads that may still become active, and those that did. */
export type Lateness = Pick<TargetState, 'late' | 'lateUploads' | 'extras'>;

/** What may come late after work: revisions that it gave up on, and the revision of an unanswered PATCH. */
export function latenessAfter(state: TargetState, result: ReleaseResult, watchMs: number): Lateness {
  const { releaseId, servingRevisionId, deploymentId, revisionId, unansweredUpload } = result;
  const { extraRevisionIds, givenUpRevisionIds, copyRevisionIds = [], endedAt } = result;
  const until = new Date(Date.parse(endedAt) + watchMs).toISOString();
  const watched = state.late.filter(
    (other) => other.revisionId !== servingRevisionId && !givenUpRevisionIds.includes(other.revisionId),
  );
  const extras = extraRevisionIds.map((extra): ExtraRevision => ({
    releaseId,
    revisionId: extra,
    at: endedAt,
    landedLate: false,
  }));
  const lost = losesTrack(result);
  // A copy carries its original's upload, but is not late.
  const withCopies = (one: LateUpload) => ({ ...one, known: [...one.known, ...copyRevisionIds] });
  const uploads = lost ? [] : state.lateUploads.map(withCopies);
  const lateness = (late: readonly LateRevision[], lateUploads: readonly LateUpload[]): Lateness => ({
    late: newest([...watched, ...late], LATE),
    lateUploads: newest([...uploads, ...lateUploads], LATE_UPLOADS),
    extras: newest([...state.extras, ...extras], EXTRAS),
  });
  if (servingRevisionId === null || deploymentId === null) return lateness([], []);
  const restoreTo = servingRevisionId;
  const late = givenUpRevisionIds
    .filter((givenUp) => givenUp !== servingRevisionId)
    .map((givenUp): LateRevision => ({ revisionId: givenUp, deploymentId, restoreTo, until }));
  if (unansweredUpload === undefined || lost) return lateness(late, []);
  const known = [...(revisionId === null ? [] : [revisionId]), ...extraRevisionIds, ...copyRevisionIds];
  const upload = { releaseId, objectPath: unansweredUpload, deploymentId, revisionId };
  return lateness(late, [{ ...upload, known, restoreTo, until }]);
}

/** Whether a rollback that changed nothing found a late revision serving. It is still to be countered. */
export function foundLate({ late }: TargetState, { kind, steps, servingRevisionId }: ReleaseResult): boolean {
  const isLate = late.some(({ revisionId }) => revisionId === servingRevisionId);
  return isLate && kind === 'rollback' && !steps.some(({ step }) => step === 'redeploy');
}

/** Whether it is unknown which revisions were made on purpose. Then a late one may be better than what serves. */
export function losesTrack({ outcome, servingRevisionId }: ReleaseResult): boolean {
  return outcome === 'rollback_failed' || (outcome === 'errored' && servingRevisionId === null);
}

/** Queues a rollback because a late revision became active. It sets no hold. */
export function counterLateRevision(state: TargetState, late: LateRevision, requestId: string): TargetState {
  const request = counterTo(state, late, requestId);
  return { ...forgetLateRevision(state, late), rollbacks: [...state.rollbacks, request] };
}

/**
 * The rollback that counters a late revision. Its `from` says that no person named `to`. Without `to`, the rollback chooses:
 * a person left that revision, or put it in quarantine.
 */
export function counterTo(state: TargetState, late: LateRevision, requestId: string): RollbackRequest {
  const { revisionId: from } = late;
  const meant = isToServe(state, late);
  const to = isQuarantined(state.known, meant) ? undefined : meant;
  const reason = `revision ${from} became active after it was abandoned`;
  return { requestId, to, from, hold: false, requestedBy: { who: 'slipway', from: 'watch', reason } };
}

/** Whether the target itself requested a rollback, which then sets no hold. */
export function isCounter({ requestedBy: { who, from } }: RollbackRequest): boolean {
  return who === 'slipway' && from === 'watch';
}

/** The revision that must serve instead of a late one. */
function isToServe({ activeRevisionId }: TargetState, { restoreTo }: LateRevision | LateUpload): string {
  return activeRevisionId ?? restoreTo;
}

/** The late revisions and uploads that a release must know, because none of them may be a baseline. */
export type LateBaselines = Pick<Lateness, 'late' | 'lateUploads'>;

export function lateBaselines(state: TargetState): LateBaselines {
  const now = <T extends LateRevision | LateUpload>(one: T): T => ({
    ...one,
    restoreTo: isToServe(state, one),
  });
  const lateUploads = state.lateUploads.filter((upload) => !mayBeCopy(state, upload));
  return { late: state.late.map(now), lateUploads: lateUploads.map(now) };
}

/** The revision to use as baseline if a late revision serves; `undefined` if none does. */
export function baselineInstead(
  { late, lateUploads }: LateBaselines,
  { activeRevisionId, latestRevisionId, latestTarballPath }: DeploymentSnapshot,
): string | undefined {
  const givenUp = late.find(({ revisionId }) => revisionId === activeRevisionId);
  if (givenUp !== undefined || activeRevisionId === null) return givenUp?.restoreTo;
  if (activeRevisionId !== latestRevisionId) return undefined;
  return lateUploads.find(
    ({ objectPath, known }) => objectPath === latestTarballPath && !known.includes(activeRevisionId),
  )?.restoreTo;
}

export function forgetLateRevision(state: TargetState, late: LateRevision): TargetState {
  return { ...state, late: state.late.filter((other) => other.revisionId !== late.revisionId) };
}

/**
 * Handles a PATCH that was applied after its release had ended: its revision is reported and watched, and countered
 * when it becomes active. Not if the release's own revision is verified: a person may have redeployed that one, which
 * makes a copy on some control planes, and must not be overruled.
 */
export function landUpload(
  state: TargetState,
  upload: LateUpload,
  revisionId: string,
  now: string,
): TargetState {
  const { releaseId, deploymentId, restoreTo, until } = upload;
  const extra: ExtraRevision = { releaseId, revisionId, at: now, landedLate: true };
  const late: LateRevision = { revisionId, deploymentId, restoreTo, until };
  return {
    ...state,
    lateUploads: state.lateUploads.map((other) =>
      other.objectPath === upload.objectPath ? { ...other, known: [...other.known, revisionId] } : other,
    ),
    extras: newest([...state.extras, extra], EXTRAS),
    late: mayBeCopy(state, upload) ? state.late : newest([...state.late, late], LATE),
  };
}

function mayBeCopy({ known }: TargetState, { revisionId }: LateUpload): boolean {
  return known.some((other) => other.verified && other.revisionId === revisionId);
}

export function forgetUpload(state: TargetState, { objectPath }: LateUpload): TargetState {
  return { ...state, lateUploads: state.lateUploads.filter((other) => other.objectPath !== objectPath) };
}
