import type { Artifact } from '../artifact/artifact.ts';
import { type Bound, newest } from '../bounds.ts';
import type { KnownRevision, RollbackRequest } from '../release/release.ts';
import type { TargetSpec } from '../target/targetSpec.ts';

/** What a revision's status means to a release that waits for it. */
export type RevisionPhase = 'pending' | 'deployed' | 'failed';

const FAILED = new Set(['CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED', 'SKIPPED', 'INTERRUPTED']);

/**
 * Reads a revision's status (contract 000, "States and transitions"). An unknown one is `pending`: the step's deadline
 * bounds it.
 */
export function revisionPhase(status: string): RevisionPhase {
  if (status === 'DEPLOYED') return 'deployed';
  return FAILED.has(status) ? 'failed' : 'pending';
}

/** A deployment at one moment, as far as the pipeline needs it. */
export interface DeploymentSnapshot {
  readonly deploymentId: string;
  readonly name: string;
  readonly activeRevisionId: string | null;
  readonly latestRevisionId: string | null;
  /** The latest revision's tarball: the key by which a PATCH of ours is recognized. */
  readonly latestTarballPath: string | null;
  readonly latestImageUri: string | null;
  readonly latestRepoRef: string | null;
  /** The agent's address, where the control plane gives one. */
  readonly agentUrl: string | null;
}

/** A revision at one moment. */
export interface RevisionSnapshot {
  readonly revisionId: string;
  readonly status: string;
  readonly tarballPath: string | null;
  readonly imageUri: string | null;
  readonly repoRef: string | null;
  /** Why it failed, where the control plane says so. */
  readonly reason: string | null;
}

const KNOWN: Bound = { items: 50, bytes: 150_000 };

/** Keeps the newest revisions, as many as a target remembers. */
export function keepKnown(known: readonly KnownRevision[]): readonly KnownRevision[] {
  return newest(known, KNOWN);
}

/** The revision that another was copied from by a redeploy; itself where it is no copy. */
export function originalOf(known: readonly KnownRevision[], revisionId: string): string {
  return known.find((revision) => revision.revisionId === revisionId)?.copyOf ?? revisionId;
}

/** Whether two revisions are the same one for a person: one, its original, or copies of it (design, `copyOf`). */
export function isSameRevision(known: readonly KnownRevision[], one: string, other: string): boolean {
  return originalOf(known, one) === originalOf(known, other);
}

/** A revision with everything that is a copy of it, or of its original. */
export function withCopies(known: readonly KnownRevision[], revisionId: string): readonly string[] {
  const copies = known.map((other) => other.revisionId);
  return [...new Set([revisionId, ...copies])].filter((other) => isSameRevision(known, other, revisionId));
}

/** What is known once a person has left a revision: neither it nor a copy is restored by itself again. */
export function leaveRevision(
  known: readonly KnownRevision[],
  revisionId: string,
  now: string,
): readonly KnownRevision[] {
  const isKnown = known.some((other) => other.revisionId === revisionId);
  const all = isKnown ? known : [...known, { revisionId, verified: false, at: now }];
  const left = withCopies(all, revisionId);
  return keepKnown(
    all.map((other): KnownRevision =>
      left.includes(other.revisionId) ? { ...other, quarantined: true } : other,
    ),
  );
}

/** The revision that a person named and that does not serve in the end; `undefined`: it serves, or none was named. */
export function missedRevision(
  { to, from }: RollbackRequest,
  known: readonly KnownRevision[],
  serving: string,
): string | undefined {
  return to === undefined || from !== undefined || isSameRevision(known, to, serving) ? undefined : to;
}

/** The part of a release that is sent to the deployment: all of it but the secrets. */
interface Shipped {
  readonly target: Pick<TargetSpec, 'sourceConfig'>;
  readonly artifact: Artifact;
  /** `graph.json` within the source; `null` for images. */
  readonly graphConfigPath: string | null;
  /** Where a tarball was uploaded to; `null`: it has not been. */
  readonly objectPath: string | null;
}

/** What a PATCH sends (contract 000, "Deployment"): fields that are absent stay as they are. */
interface PatchedFields {
  readonly source_config: Readonly<Record<string, unknown>>;
  readonly source_revision_config: Readonly<Record<string, string>>;
}

/** What the PATCH of a release sends, without the secrets. */
export function patchedFields({ target, artifact, graphConfigPath, objectPath }: Shipped): PatchedFields {
  return {
    source_config: Object.fromEntries(
      Object.entries(target.sourceConfig).filter(([name]) => !IMMUTABLE.has(name)),
    ),
    source_revision_config: {
      ...(graphConfigPath === null ? {} : { graph_config_path: graphConfigPath }),
      ...artifactFields(artifact, objectPath),
    },
  };
}

/** Fields that cannot change after creation (contract 000, "SourceConfig") are left out of a PATCH. */
export const IMMUTABLE: ReadonlySet<string> = new Set([
  'integration_id',
  'repo_url',
  'deployment_type',
  'listener_id',
]);

/** Where an artifact stands in a revision's configuration. */
export function artifactFields(artifact: Artifact, objectPath: string | null): Record<string, string> {
  switch (artifact.kind) {
    case 'tarball':
      return objectPath === null ? {} : { source_tarball_path: objectPath };
    case 'image':
      return { image_uri: artifact.uri };
    case 'git':
      return { repo_ref: artifact.ref };
  }
}
