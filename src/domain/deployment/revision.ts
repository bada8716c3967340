/** What a revision's status means to whoever follows it. */
export type RevisionPhase = 'pending' | 'deployed' | 'failed';

const FAILED = new Set(['CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED', 'SKIPPED', 'INTERRUPTED']);

/**
 * Reads a revision's status (contract 000, "States and transitions"; the values that it leaves open are those
 * of its public relative). A value nobody has named yet is `pending`: the step's deadline bounds it.
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
