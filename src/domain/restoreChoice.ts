import { type Baseline, type KnownRevision } from './release.ts';

/** A revision that a restore may put back. */
export interface RestoreCandidate {
  readonly revisionId: string;
  readonly verified: boolean;
}

/**
 * The revisions to put back, best first (design, "The way of a release", 4): the one asked for; the baseline where
 * it is verified; then the verified revisions, newest first; at last the baseline as it was, unverified.
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
  if (to !== undefined)
    add(
      to,
      known.some((revision) => revision.revisionId === to && revision.verified),
    );
  if (baseline?.revisionId != null && baseline.verified) add(baseline.revisionId, true);
  for (const revision of known.toReversed()) if (revision.verified) add(revision.revisionId, true);
  if (baseline?.revisionId != null) add(baseline.revisionId, baseline.verified);
  return candidates;
}

/**
 * The revision that a manual rollback without a name goes back to: the newest verified one from before the active
 * revision; `undefined` when there is none.
 *
 * @param known - oldest first.
 */
export function previousVerified(
  known: readonly KnownRevision[],
  activeRevisionId: string | null,
): string | undefined {
  const position = known.findIndex((revision) => revision.revisionId === activeRevisionId);
  const before = position === -1 ? known : known.slice(0, position);
  return before.findLast((revision) => revision.verified)?.revisionId;
}
