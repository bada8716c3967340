import type { Artifact } from '../artifact/artifact.ts';
import type { TargetSpec } from '../target/targetSpec.ts';

/** What of a release decides what a deployment is told: all of it but the secrets. */
export interface Shipped {
  readonly target: Pick<TargetSpec, 'sourceConfig'>;
  readonly artifact: Artifact;
  /** `graph.json` within the source; `null` for images. */
  readonly graphConfigPath: string | null;
  /** Where a tarball was uploaded to; `null`: it has not been. */
  readonly objectPath: string | null;
}

/** What a PATCH sends (contract 000, "Deployment"): fields that are absent stay as they are. */
export interface PatchedFields {
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
