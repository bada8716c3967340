import { needsPerson } from '../release/outcome.ts';
import type { PastRelease } from '../release/pastRelease.ts';

export interface TargetRelease extends PastRelease {
  /** The target's workflow id. */
  readonly targetId: string;
}

/** A release that changed what its target serves. */
export interface Change {
  readonly release: TargetRelease;
  /** Whether it was rolled back, then or later, or needs a person. */
  readonly failed: boolean;
}

/** The releases that changed what their targets serve, in order, and which of them failed. */
export function changesOf(releases: readonly TargetRelease[]): readonly Change[] {
  const left = leftLater(releases);
  return releases.flatMap((release) => {
    const { kind, outcome, revisionId } = release;
    if (kind !== 'release') return [];
    if (outcome === 'released') return [{ release, failed: left.has(release) }];
    if (outcome === 'rolled_back') return [{ release, failed: true }];
    const isStuck = outcome !== 'running' && outcome !== 'stopped' && needsPerson(outcome);
    // Without a revision, nothing was changed.
    return isStuck && revisionId !== null ? [{ release, failed: true }] : [];
  });
}

/** The releases that a later rollback left: each left the newest release or rollback that had ended before. */
function leftLater(releases: readonly TargetRelease[]): ReadonlySet<TargetRelease> {
  const ended = releases
    .filter(({ endedAt, servingRevisionId }) => endedAt !== null && servingRevisionId !== null)
    .toSorted((one, other) => Date.parse(one.endedAt ?? '') - Date.parse(other.endedAt ?? ''));
  /** By target: what serves, and the release that deployed it; `null` if a rollback did. */
  const serving = new Map<string, { readonly revisionId: string; readonly by: TargetRelease | null }>();
  /** The release of each revision. What a rollback restored belongs to its original's release. */
  const made = new Map<string, TargetRelease>();
  const left = new Set<TargetRelease>();
  for (const release of ended) {
    const { targetId, kind, outcome } = release;
    const revisionId = release.servingRevisionId ?? '';
    const before = serving.get(targetId);
    if (kind === 'release' && outcome === 'released') {
      made.set(`${targetId} ${revisionId}`, release);
      serving.set(targetId, { revisionId, by: release });
      continue;
    }
    if (revisionId === before?.revisionId) continue;
    const isRollback = kind === 'rollback' && outcome === 'rolled_back';
    if (isRollback && before?.by != null) left.add(before.by);
    serving.set(targetId, {
      revisionId,
      by: made.get(`${targetId} ${revisionId}`) ?? (kind === 'release' ? (before?.by ?? null) : null),
    });
  }
  return left;
}
