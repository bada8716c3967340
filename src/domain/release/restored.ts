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
  const redeployed = steps.filter(({ restoring, step }) => restoring && step === 'redeploy');
  const asked = preemptedBy?.requestedBy.who ?? (kind === 'rollback' ? requestedBy.who : undefined);
  return redeployed.map(({ subject = '', status }, index) => ({
    revisionId: subject,
    done: status === 'done',
    why: whyChosen(subject, index),
  }));

  function whyChosen(revisionId: string, index: number): string {
    if (index > 0)
      return 'the newest other verified revision, because the one before it could not be restored';
    if (preemptedBy?.to === revisionId && preemptedBy.from === undefined)
      return `${asked ?? 'a person'} named it`;
    if (asked !== undefined)
      return `${asked} asked for a rollback: the newest verified revision of an earlier release`;
    if (revisionId === baseline?.revisionId) {
      return baseline.verified
        ? 'it served before this release, and had passed its checks'
        : 'it served before this release; no verified revision was known';
    }
    return 'the newest verified revision that is not in quarantine';
  }
}
