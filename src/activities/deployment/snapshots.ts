import type { ControlPlaneClient } from '../../clients/controlPlane.ts';
import { cutText } from '../../domain/bounds.ts';
import type { DeploymentSnapshot, RevisionSnapshot } from '../../domain/deployment/revision.ts';

/** Of a control plane's own words, as JSON: some tell the whole log of a build. */
const REASON_MAX_BYTES = 4_000;

type Deployment = Awaited<ReturnType<ControlPlaneClient['getDeployment']>>;
type Revision = Awaited<ReturnType<ControlPlaneClient['getRevision']>>;

/** What the pipeline needs of a deployment (contract 000, "Deployment"), and nothing else: no secret gets further. */
export function deploymentSnapshot(deployment: Deployment): DeploymentSnapshot {
  const { source_config: config, source_revision_config: latest } = deployment;
  return {
    deploymentId: deployment.id,
    name: deployment.name,
    activeRevisionId: deployment.active_revision_id,
    latestRevisionId: deployment.latest_revision_id,
    latestTarballPath: latest.source_tarball_path ?? null,
    latestImageUri: latest.image_uri ?? null,
    latestRepoRef: latest.repo_ref ?? null,
    agentUrl: config.custom_url ?? null,
  };
}

/** What the pipeline needs of a revision (contract 000, "Other resources"). */
export function revisionSnapshot(revision: Revision): RevisionSnapshot {
  const source = revision.source_revision_config;
  return {
    revisionId: revision.id,
    status: revision.status,
    tarballPath: source?.source_tarball_path ?? null,
    imageUri: source?.image_uri ?? null,
    repoRef: source?.repo_ref ?? null,
    reason: revision.status_message == null ? null : cutText(revision.status_message, REASON_MAX_BYTES),
  };
}
