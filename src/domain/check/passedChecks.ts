import type { KnownRevision } from '../release/release.ts';
import type { Check } from './check.ts';

/** The checks that a revision passed: it is restored under these, even if others are asked later. */
export interface PassedChecks {
  readonly revisionId: string;
  readonly checks: readonly Check[];
}

/** Known revisions with the digests of the checks they passed, in that order. A copy has those of its original. */
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
