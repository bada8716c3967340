import { shortArtifact, shortCommit } from '../artifact/artifact.ts';
import type { KnownRevision, ReleaseResult } from '../release/release.ts';
import { isVerified } from '../restore/restoreDecision.ts';
import type { Instant } from '../scalars.ts';

/** What identifies a revision to people. */
export interface RevisionWords {
  readonly revisionId: string;
  /** Its release; `null` if the target did not make it. */
  readonly release: string | null;
  readonly commit: string | null;
  /** Its artifact's identity. */
  readonly artifact: string | null;
}

/** A revision, and whether it is verified. */
export interface DescribedRevision extends RevisionWords {
  /** `null` if not known. */
  readonly verified: boolean | null;
  /** When its checks last passed or failed. */
  readonly at: Instant | null;
  /** The revision that it is a copy of. */
  readonly copyOf: string | null;
}

export interface SeenRevisions {
  readonly known: readonly KnownRevision[];
  /** Oldest first. */
  readonly history: readonly Pick<ReleaseResult, 'releaseId' | 'revisionId' | 'commit' | 'artifact'>[];
}

/** The revision that a person means, or why it is unclear. `askFor`: only the control plane may know it. */
export type Meant =
  { readonly revisionId: string } | { readonly askFor: string } | { readonly problem: string };

/** The control plane's ids are UUIDs (contract 000). */
const REVISION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The shortest beginning of an id to accept. */
const PREFIX_MIN_CHARACTERS = 4;
const CANDIDATES_MAX = 8;

export function isRevisionId(text: string): boolean {
  return REVISION_ID.test(text);
}

/** The revision that a person means, by its id, by a unique beginning of its id, or by its release. */
export function findRevision(seen: SeenRevisions, named: string): Meant {
  const all = wordsOfAll(seen);
  const exact = all.find(({ revisionId }) => revisionId === named.toLowerCase());
  if (exact !== undefined) return { revisionId: exact.revisionId };
  if (isRevisionId(named)) return { askFor: named.toLowerCase() };
  const released = all.filter(({ release }) => release === named);
  const best = released.findLast(({ revisionId }) => isVerified(seen.known, revisionId)) ?? released.at(-1);
  if (best !== undefined) return { revisionId: best.revisionId };
  const begun =
    named.length < PREFIX_MIN_CHARACTERS
      ? []
      : all.filter(({ revisionId }) => revisionId.startsWith(named.toLowerCase()));
  const [only, ...others] = begun;
  if (only === undefined)
    return { problem: noRevision(seen, named, 'no revision or release of this target is called') };
  if (others.length === 0) return { revisionId: only.revisionId };
  return { problem: `several revisions begin with "${named}": ${list(begun)}` };
}

/** Reports that there is no such revision, and lists the verified ones. */
export function noRevision(
  seen: SeenRevisions,
  named: string,
  why = 'the control plane has no revision',
): string {
  const verified = wordsOfAll(seen).filter(({ revisionId }) => isVerified(seen.known, revisionId));
  const choice =
    verified.length === 0 ? 'the target knows no verified revision' : `verified are: ${list(verified)}`;
  return `${why} "${named}"; ${choice}`;
}

/** What identifies a known revision to people. */
export function wordsOf(seen: SeenRevisions, revisionId: string): RevisionWords {
  const words = wordsOfAll(seen).find((other) => other.revisionId === revisionId);
  return words ?? { revisionId, release: null, commit: null, artifact: null };
}

/** A revision as text: `revision 657565e3-… (release-3, commit 1a2b3c4, sha256:4be1f0c2a1d3)`. */
export function revisionText({ revisionId, release, commit, artifact }: RevisionWords): string {
  const beside = [
    release,
    commit === null ? null : `commit ${shortCommit(commit)}`,
    artifact === null ? null : shortArtifact(artifact),
  ].filter((word) => word !== null);
  return `revision ${revisionId}${beside.length === 0 ? '' : ` (${beside.join(', ')})`}`;
}

/** Oldest first. A revision that a release made but that the target does not know is only in the history. */
function wordsOfAll({ known, history }: SeenRevisions): readonly RevisionWords[] {
  const unknown = history.flatMap(({ revisionId, releaseId, commit, artifact }) =>
    revisionId === null || known.some((other) => other.revisionId === revisionId)
      ? []
      : [{ revisionId, release: releaseId, commit, artifact }],
  );
  const words = known.map(({ revisionId, release, commit, artifact }): RevisionWords => {
    // A failed release may have made the revision that a later release found serving.
    const made = history.find((row) => row.revisionId === revisionId);
    return {
      revisionId,
      release: release ?? made?.releaseId ?? null,
      commit: commit ?? made?.commit ?? null,
      artifact: artifact ?? made?.artifact ?? null,
    };
  });
  return [...unknown, ...words];
}

/** Newest first. */
function list(revisions: readonly RevisionWords[]): string {
  return revisions.slice(-CANDIDATES_MAX).reverse().map(revisionText).join('; ');
}
