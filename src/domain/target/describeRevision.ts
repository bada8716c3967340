import { artifactIdentity } from '../artifact/artifact.ts';
import { type DescribedRevision, wordsOf } from '../deployment/revisionName.ts';
import type { Progress } from '../release/release.ts';
import type { Running, TargetState } from './targetState.ts';

/** Describes a revision. A running release knows its own revision before the target does. */
export function describeRevision(
  { known, history, lastRequest }: Pick<TargetState, 'known' | 'history' | 'lastRequest'>,
  running: Running | null,
  progress: Progress | undefined,
  revisionId: string,
): DescribedRevision {
  const {
    verified = null,
    at = null,
    copyOf = null,
  } = known.find((other) => other.revisionId === revisionId) ?? {};
  const words = wordsOf({ known, history }, revisionId);
  if (words.release !== null || running?.kind !== 'release' || progress?.revisionId !== revisionId) {
    return { ...words, verified, at, copyOf };
  }
  const request = lastRequest?.requestKey === running.requestKey ? lastRequest : null;
  return {
    revisionId,
    verified: false,
    at,
    copyOf,
    release: running.releaseId,
    commit: request?.commit ?? null,
    artifact: request === null ? null : artifactIdentity(request.artifact),
  };
}
