import type { Artifact } from '../artifact/artifact.ts';
import type { ReleaseRequest } from '../release/release.ts';
import type { TargetSpec } from '../target/targetSpec.ts';

/** The parts of a release that are sent to the deployment, except secrets. */
interface Shipped extends Pick<ReleaseRequest, 'artifact' | 'graphConfigPath'> {
  readonly target: Pick<TargetSpec, 'sourceConfig'>;
  /** The upload path of a tarball; `null` before the upload. */
  readonly objectPath: string | null;
}

/** The body of a PATCH (contract 000, "Deployment"). Absent fields stay unchanged. */
interface PatchedFields {
  readonly source_config: Readonly<Record<string, unknown>>;
  readonly source_revision_config: Readonly<Record<string, string>>;
}

/** The body of a release's PATCH, without secrets. */
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

/** Fields that cannot change after creation (contract 000, "SourceConfig"). A PATCH leaves them out. */
export const IMMUTABLE: ReadonlySet<string> = new Set([
  'integration_id',
  'repo_url',
  'deployment_type',
  'listener_id',
]);

/** The fields of a revision's configuration that name the artifact. */
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
