/** A source tarball in an artifact store, named by the sha256 of its content. */
export interface TarballArtifact {
  readonly kind: 'tarball';
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  readonly sizeBytes: number;
  /** The artifact store that contains it: a `file:` URL. */
  readonly store: string;
}

interface ImageArtifact {
  readonly kind: 'image';
  readonly uri: string;
}

/** A branch (bare name) or a tag (`refs/tags/…`) of the deployment's repository. */
interface GitArtifact {
  readonly kind: 'git';
  readonly ref: string;
}

/** What a release ships. Only a reference: the bytes never pass through a workflow. */
export type Artifact = TarballArtifact | ImageArtifact | GitArtifact;

/** A short name of an artifact for people: a shortened digest, an image URI, or a ref. */
export function describeArtifact(artifact: Artifact): string {
  switch (artifact.kind) {
    case 'tarball':
      return artifact.digest.slice(0, 'sha256:'.length + 12);
    case 'image':
      return artifact.uri;
    case 'git':
      return artifact.ref;
  }
}

/** An artifact's identity. Artifacts with the same identity ship the same thing. */
export function artifactIdentity(artifact: Artifact): string {
  switch (artifact.kind) {
    case 'tarball':
      return artifact.digest;
    case 'image':
      return `image:${artifact.uri}`;
    case 'git':
      return `git:${artifact.ref}`;
  }
}

/** Whether an identity is fixed: a tarball's or an image's digest is, a tag or a branch is not. */
export function isPinned(identity: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(identity) || /^image:.+@sha256:[0-9a-f]{64}$/.test(identity);
}

/** An artifact's identity for people, with a shortened digest. */
export function shortArtifact(identity: string): string {
  return identity.replace(/^(sha256:[0-9a-f]{12})[0-9a-f]+$/u, '$1');
}

/** Whether two identities name one artifact. A record keeps only the beginning of a digest. */
export function isSameArtifact(one: string | null, other: string | null): boolean {
  return one === other || (one !== null && other !== null && shortArtifact(one) === shortArtifact(other));
}

/** A commit for people. It still says if the source differed from it (`-dirty`). */
export function shortCommit(commit: string): string {
  return `${commit.slice(0, 12)}${commit.endsWith('-dirty') ? '-dirty' : ''}`;
}
