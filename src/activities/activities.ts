import { type Artifact, type TarballArtifact } from '../domain/artifact.ts';
import { type Check } from '../domain/check.ts';
import { type CheckVerdict, type ReleaseResult } from '../domain/release.ts';
import { type DeploymentSnapshot, type RevisionSnapshot } from '../domain/revision.ts';
import { type TargetSpec } from '../domain/targetSpec.ts';

/** An activity's result, with the attempt that gave it (from 1): the workflow has no other way to know. */
export type Attempted<T> = T & { readonly attempt: number };

/** A deployment of a target. */
export interface DeploymentInput {
  readonly target: TargetSpec;
  readonly deploymentId: string;
}

/** A revision of a target's deployment. */
export interface RevisionInput extends DeploymentInput {
  readonly revisionId: string;
}

/** What a release does on the outside. Each is one HTTP call, or one repeated; failures are `ApplicationFailure`s. */
export interface Activities {
  /** Finds the deployment by name, or reads it by id; `null` where there is none of that name. */
  findDeployment(input: {
    readonly target: TargetSpec;
  }): Promise<Attempted<{ deployment: DeploymentSnapshot | null }>>;

  createDeployment(input: {
    readonly target: TargetSpec;
    readonly artifact: Artifact;
    readonly graphConfigPath: string | null;
  }): Promise<Attempted<{ deployment: DeploymentSnapshot }>>;

  readDeployment(input: DeploymentInput): Promise<Attempted<{ deployment: DeploymentSnapshot }>>;

  readRevision(input: RevisionInput): Promise<Attempted<{ revision: RevisionSnapshot }>>;

  /** The newest revisions, newest first; `null` where the control plane offers no list. */
  listRevisions(
    input: DeploymentInput,
  ): Promise<Attempted<{ revisions: readonly RevisionSnapshot[] | null }>>;

  /**
   * Requests an upload URL and uploads the tarball there. Two calls in one activity: the signed URL is a credential
   * and must not enter the history, and a repeated attempt needs a fresh one.
   */
  uploadArtifact(
    input: DeploymentInput & { readonly artifact: TarballArtifact },
  ): Promise<Attempted<{ objectPath: string }>>;

  /** PATCHes the deployment to the artifact; `objectPath` is set for tarballs. */
  patchDeployment(
    input: DeploymentInput & {
      readonly artifact: Artifact;
      readonly objectPath: string | null;
      readonly graphConfigPath: string | null;
    },
  ): Promise<Attempted<{ deployment: DeploymentSnapshot }>>;

  redeployRevision(input: RevisionInput): Promise<Attempted<{ deployment: DeploymentSnapshot }>>;

  /** Polls the revision until it is `DEPLOYED` or has failed. */
  awaitDeployed(input: RevisionInput): Promise<Attempted<{ revision: RevisionSnapshot }>>;

  /** Polls until the revision is the active one and the agent answers. */
  confirmServing(input: RevisionInput): Promise<Attempted<{ agentUrl: string }>>;

  /** Runs one check; a verdict counts only if the revision was active before and after. */
  runCheck(
    input: RevisionInput & { readonly agentUrl: string; readonly check: Check },
  ): Promise<Attempted<{ verdict: CheckVerdict }>>;

  /** Polls a revision that was given up on until it has failed, or has become the active one. */
  awaitLateSuccess(input: RevisionInput): Promise<Attempted<{ cameUp: boolean }>>;

  /** Writes the release's record into the artifact store; writing it again is writing it once. */
  recordRelease(input: {
    readonly store: string;
    readonly result: ReleaseResult;
  }): Promise<Attempted<{ location: string }>>;
}
