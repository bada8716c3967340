import { shortArtifact } from '../artifact/artifact.ts';
import type { KnownRevision } from '../release/release.ts';
import type { Instant } from '../scalars.ts';

/** What identifies a revision to people. */
export interface RevisionWords {
  readonly revisionId: string;
  /** The release that it belongs to. `null`: the target did not make it. */
  readonly release: string | null;
  readonly commit: string | null;
  /** The identity of its artifact. */
  readonly artifact: string | null;
}

/** A revision, and how its checks ended. */
export interface DescribedRevision extends RevisionWords {
  /** `null`: not known. */
  readonly verified: boolean | null;
  /** When its checks last passed or failed. */
  readonly at: Instant | null;
  /** The revision that it is a copy of. */
  readonly copyOf: string | null;
}

/** What a target has seen of its deployment's revisions. */
export interface SeenRevisions {
  readonly known: readonly KnownRevision[];
  /** Oldest first. */
  readonly history: readonly {
    readonly releaseId: string;
    readonly revisionId: string | null;
    readonly commit: string | null;
    readonly artifact: string | null;
  }[];
}

/** The revision that a person means, or why that is not clear. `askFor`: the control plane may know it. */
export type Meant =
  { readonly revisionId: string } | { readonly askFor: string } | { readonly problem: string };

/** The control plane's ids are UUIDs (contract 000). */
const REVISION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** A shorter beginning of an id says too little. */
const PREFIX_MIN_CHARACTERS = 4;
const CANDIDATES_MAX = 8;

/** Whether a text can be the id of a revision. */
export function isRevisionId(text: string): boolean {
  return REVISION_ID.test(text);
}

/** The revision that a person means: by its id, by the only id that begins so, or by the release that made it. */
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

/** Says that there is no such revision, and which ones there are. */
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

/** What is known of a revision. */
export function wordsOf(seen: SeenRevisions, revisionId: string): RevisionWords {
  const words = wordsOfAll(seen).find((other) => other.revisionId === revisionId);
  return words ?? { revisionId, release: null, commit: null, artifact: null };
}

/** A revision in a sentence: `revision 657565e3-… (release-3, commit 1a2b3c4, sha256:4be1f0c2a1d3)`. */
export function revisionText({ revisionId, release, commit, artifact }: RevisionWords): string {
  const beside = [
    release,
    commit === null ? null : `commit ${commit.slice(0, 12)}`,
    artifact === null ? null : shortArtifact(artifact),
  ].filter((word) => word !== null);
  return `revision ${revisionId}${beside.length === 0 ? '' : ` (${beside.join(', ')})`}`;
}

/** Oldest first. What a release made and the target did not come to know stands in its history alone. */
function wordsOfAll({ known, history }: SeenRevisions): readonly RevisionWords[] {
  const unknown = history.flatMap(({ revisionId, releaseId, commit, artifact }) =>
    revisionId === null || known.some((other) => other.revisionId === revisionId)
      ? []
      : [{ revisionId, release: releaseId, commit, artifact }],
  );
  const words = known.map(({ revisionId, release, commit, artifact }): RevisionWords => {
    // A release that failed may have made what a later one found to serve.
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

function isVerified(known: readonly KnownRevision[], revisionId: string): boolean {
  return known.some((other) => other.verified && other.revisionId === revisionId);
}

/** The newest first. */
function list(revisions: readonly RevisionWords[]): string {
  return revisions.slice(-CANDIDATES_MAX).reverse().map(revisionText).join('; ');
}
