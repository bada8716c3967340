import type { RevisionWords } from '../../domain/deployment/revisionName.ts';

/** A revision for people: `release-3, commit 1a2b3c4d5e, artifact sha256:4be1f0c2a1d3, revision 657565e3`. */
export function revisionWords({ revisionId, release, commit, artifact }: RevisionWords): string {
  return [
    release ?? 'made outside of Slipway',
    commit === null ? 'commit not known' : `commit ${commit.slice(0, 10)}`,
    artifact === null ? 'artifact not known' : `artifact ${artifactWords(artifact)}`,
    `revision ${revisionId.slice(0, 8)}`,
  ].join(', ');
}

/** An artifact for people: a digest by its beginning. */
export function artifactWords(artifact: string): string {
  return artifact.replace(/^(sha256:[0-9a-f]{12})[0-9a-f]+$/u, '$1');
}

/** An instant for people, in UTC: `2026-01-31 12:00 UTC`. */
export function instantWords(at: string): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
