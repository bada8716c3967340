import { namedRevision } from '../deployment/revision.ts';
import { isCounter } from '../target/lateRevisions.ts';
import type { ReleaseResult } from './release.ts';

/** A revision that was restored, or that a restore tried. */
export interface RestoredRevision {
  readonly revisionId: string;
  /** Whether it was redeployed. */
  readonly done: boolean;
  /** Why this revision and no other: one sentence. */
  readonly why: string;
}

/** The redeployed revisions in order, each with the reason for the choice (design, "What restoring means"). */
export function restoredRevisions({
  kind,
  steps,
  baseline,
  preemptedBy,
  requestedBy,
}: Pick<
  ReleaseResult,
  'kind' | 'steps' | 'baseline' | 'preemptedBy' | 'requestedBy'
>): readonly RestoredRevision[] {
  const redeployed = steps.filter(({ step }) => step === 'redeploy');
  return redeployed.map(({ subject = '', status }, index) => ({
    revisionId: subject,
    done: status === 'done',
    why: whyChosen(subject, index),
  }));

  function whyChosen(revisionId: string, index: number): string {
    if (redeployed[index - 1]?.subject === revisionId)
      return 'one more try, because the one before did not succeed';
    if (index > 0)
      return 'the newest other verified revision, because the one before it could not be restored';
    // A rollback's result does not show whether a person named the revision.
    if (kind === 'rollback') return `${requestedBy.who} asked for a rollback`;
    if (preemptedBy !== null) {
      if (isCounter(preemptedBy)) return 'it was to serve when the late revision became active';
      const { who } = preemptedBy.requestedBy;
      return namedRevision(preemptedBy) === revisionId
        ? `${who} named it`
        : `${who} asked for a rollback: the newest verified revision of an earlier release`;
    }
    if (revisionId === baseline?.revisionId) {
      return baseline.verified
        ? 'it served before this release, and had passed its checks'
        : 'it served before this release; no verified revision was known';
    }
    return 'the newest verified revision that is not in quarantine';
  }
}
