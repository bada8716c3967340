import { originalOf } from '../deployment/knownRevisions.ts';
import type { Baseline, KnownRevision } from '../release/release.ts';

/** A revision that a restore may put back. */
export interface RestoreCandidate {
  readonly revisionId: string;
  readonly verified: boolean;
}

/**
 * The revisions to put back, best first (design, "The way of a release", 4): the one asked for; the baseline where
 * it is verified; then the verified revisions, newest first; at last the baseline as it was, unverified. A revision
 * that a person rolled back from, or that is in quarantine, is restored only by name, also if there is no other.
 *
 * @param known - oldest first.
 * @param avoid - revisions that are never put back: the one that failed.
 */
export function restoreCandidates(options: {
  readonly to: string | undefined;
  readonly baseline: Baseline | null;
  readonly known: readonly KnownRevision[];
  readonly avoid: readonly string[];
}): readonly RestoreCandidate[] {
  const { to, baseline, known, avoid } = options;
  const candidates: RestoreCandidate[] = [];
  const add = (revisionId: string, verified: boolean): void => {
    if (revisionId !== to && avoid.includes(revisionId)) return;
    if (candidates.some((candidate) => candidate.revisionId === revisionId)) return;
    candidates.push({ revisionId, verified });
  };
  if (to !== undefined) add(to, isVerified(known, to));
  const mayReturn = (revisionId: string): boolean => !isQuarantined(known, revisionId);
  const before = baseline?.revisionId ?? null;
  const beforeReturns = before !== null && mayReturn(before);
  if (beforeReturns && baseline?.verified === true) add(before, true);
  for (const { revisionId, verified } of known.toReversed())
    if (verified && mayReturn(revisionId)) add(revisionId, true);
  if (beforeReturns) add(before, false);
  return candidates;
}

/** Whether a revision is restored only by name. */
export function isQuarantined(known: readonly KnownRevision[], revisionId: string): boolean {
  return known.some((revision) => revision.revisionId === revisionId && revision.quarantined === true);
}

/**
 * The revision that a manual rollback without a name goes back to: the newest verified one of an earlier release than
 * the revision that is left, and none that a person rolled back from; `undefined` when there is none. A copy is as old
 * as its original. A revision that is not known is newer than all that are.
 *
 * @param known - oldest first.
 * @param leaving - `null`: nothing serves.
 */
export function previousVerified(
  known: readonly KnownRevision[],
  leaving: string | null,
): string | undefined {
  const ages = known.map((revision) => originalOf(known, revision.revisionId));
  const ageOf = (revisionId: string): number => ages.indexOf(originalOf(known, revisionId));
  const end = leaving === null ? -1 : ageOf(leaving);
  const earlier = known.filter(
    ({ revisionId, verified, quarantined }) =>
      verified && quarantined !== true && (end === -1 || ageOf(revisionId) < end),
  );
  const newest = Math.max(...earlier.map(({ revisionId }) => ageOf(revisionId)));
  return earlier.findLast(({ revisionId }) => ageOf(revisionId) === newest)?.revisionId;
}

function isVerified(known: readonly KnownRevision[], revisionId: string): boolean {
  return known.findLast((revision) => revision.revisionId === revisionId)?.verified === true;
}
