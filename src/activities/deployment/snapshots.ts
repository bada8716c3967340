import type { ControlPlaneClient } from '../../clients/controlPlane.ts';
import { cutText } from '../../domain/bounds.ts';
import type { DeploymentSnapshot, RevisionSnapshot } from '../../domain/deployment/revision.ts';

export type Deployment = Awaited<ReturnType<ControlPlaneClient['getDeployment']>>;
export type Revision = Awaited<ReturnType<ControlPlaneClient['getRevision']>>;

/** The fields of a deployment that the pipeline uses (contract 000); others, such as secrets, are dropped. */
export function deploymentSnapshot(deployment: Deployment): DeploymentSnapshot {
  const { source_config: config, source_revision_config: latest } = deployment;
  return {
    deploymentId: deployment.id,
    activeRevisionId: deployment.active_revision_id,
    latestRevisionId: deployment.latest_revision_id,
    latestTarballPath: latest.source_tarball_path ?? null,
    latestImageUri: latest.image_uri ?? null,
    latestRepoRef: latest.repo_ref ?? null,
    agentUrl: config.custom_url ?? null,
  };
}

/** The fields of a revision that the pipeline uses (contract 000, "Other resources"). */
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

/** The longest reason from a control plane, as JSON: some send the whole log of a build. */
const REASON_MAX_BYTES = 4_000;
