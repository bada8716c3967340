import type { KnownRevision } from '../release/release.ts';
import type { Check } from './check.ts';

/** The checks that a revision passed: it is restored under these, whatever others are asked later. */
export interface PassedChecks {
  readonly revisionId: string;
  readonly checks: readonly Check[];
}

/**
 * Known revisions with the digests of the checks that they passed. A copy that a redeploy made has those of its
 * original, also where the original passed them in the same release.
 *
 * @param digests - of each of `passed`, in its order.
 */
export function withDigests(
  known: readonly KnownRevision[],
  passed: readonly PassedChecks[],
  digests: readonly string[],
): readonly KnownRevision[] {
  return known.map((revision) => {
    const original = revision.copyOf ?? revision.revisionId;
    const digest = digests[passed.findIndex(({ revisionId }) => revisionId === original)];
    return digest === undefined ? revision : { ...revision, checks: digest };
  });
}
