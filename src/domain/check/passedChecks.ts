import type { KnownRevision } from '../release/release.ts';
import type { Check } from './check.ts';

/** The checks that a revision passed: it is restored under these, whatever others are asked later. */
export interface PassedChecks {
  readonly revisionId: string;
  readonly checks: readonly Check[];
}

/**
 * Known revisions with the digests of the checks that they passed.
 *
 * @param digests - of each of `passed`, in its order.
 */
export function withDigests(
  known: readonly KnownRevision[],
  passed: readonly PassedChecks[],
  digests: readonly string[],
): readonly KnownRevision[] {
  return known.map((revision) => {
    const digest = digests[passed.findIndex(({ revisionId }) => revisionId === revision.revisionId)];
    return digest === undefined ? revision : { ...revision, checks: digest };
  });
}
