import type { Artifact } from '../domain/artifact/artifact.ts';
import type { DeploymentSnapshot, RevisionSnapshot } from '../domain/deployment/revision.ts';
import { SlipwayError } from '../domain/errors.ts';
import { type TargetSpec, targetWorkflowId } from '../domain/target/targetSpec.ts';

/** How long a build takes here, in milliseconds. */
const BUILD_MS = 2 * 60_000;
/** How long it takes until a revision that was built serves again. */
const REDEPLOY_MS = 30_000;

interface Revision {
  readonly revisionId: string;
  readonly tarballPath: string | null;
  readonly artifact: Artifact;
  readonly ends: 'DEPLOYED' | 'BUILD_FAILED';
  /** When it has come to its end: milliseconds since 1970. */
  readyAt: number;
}

interface Deployment {
  readonly deploymentId: string;
  readonly target: TargetSpec;
  /** Oldest first. */
  readonly revisions: Revision[];
}

/** What a control plane has of deployments, in memory: a PATCH makes a revision, and time brings it up. */
export class Deployments {
  readonly #deployments = new Map<string, Deployment>();
  #uploads = 0;

  /** A deployment with one revision that serves from a moment on. @returns the revision's id. */
  create(target: TargetSpec, artifact: Artifact, readyAt: number): string {
    const deploymentId = target.deploymentId ?? `${target.name} (rehearsed)`;
    const deployment: Deployment = { deploymentId, target, revisions: [] };
    this.#deployments.set(targetWorkflowId(target), deployment);
    return add(deployment, { artifact, tarballPath: null, ends: 'DEPLOYED', readyAt }).revisionId;
  }

  upload(): string {
    this.#uploads += 1;
    return `uploads/${this.#uploads}.tar.gz`;
  }

  /** Makes a revision, which is built from now on. */
  patch(
    target: TargetSpec,
    revision: Pick<Revision, 'artifact' | 'tarballPath' | 'ends'>,
    now: number,
  ): DeploymentSnapshot {
    add(this.#of(target), { ...revision, readyAt: now + BUILD_MS });
    return this.read(target, now);
  }

  redeploy(target: TargetSpec, revisionId: string, now: number): DeploymentSnapshot {
    this.#revision(target, revisionId).readyAt = now + REDEPLOY_MS;
    return this.read(target, now);
  }

  /** `null`: there is none. */
  find(target: TargetSpec, now: number): DeploymentSnapshot | null {
    return this.#deployments.has(targetWorkflowId(target)) ? this.read(target, now) : null;
  }

  /** @throws SlipwayError SLIPWAY_NOT_FOUND. */
  read(target: TargetSpec, now: number): DeploymentSnapshot {
    const { deploymentId, revisions } = this.#of(target);
    const latest = revisions.at(-1);
    const artifact = latest?.artifact;
    return {
      deploymentId,
      name: target.deployment,
      activeRevisionId: serving(revisions, now)?.revisionId ?? null,
      latestRevisionId: latest?.revisionId ?? null,
      latestTarballPath: latest?.tarballPath ?? null,
      latestImageUri: artifact?.kind === 'image' ? artifact.uri : null,
      latestRepoRef: artifact?.kind === 'git' ? artifact.ref : null,
      agentUrl: target.agentUrl ?? `http://${encodeURIComponent(target.name)}.rehearsed.invalid`,
    };
  }

  /** @throws SlipwayError SLIPWAY_NOT_FOUND. */
  readRevision(target: TargetSpec, revisionId: string, now: number): RevisionSnapshot {
    return snapshot(this.#revision(target, revisionId), now);
  }

  /** Newest first. */
  listRevisions(target: TargetSpec, now: number): readonly RevisionSnapshot[] {
    return this.#of(target)
      .revisions.toReversed()
      .map((revision) => snapshot(revision, now));
  }

  #of(target: TargetSpec): Deployment {
    const found = this.#deployments.get(targetWorkflowId(target));
    if (found === undefined)
      throw new SlipwayError('SLIPWAY_NOT_FOUND', `"${target.name}" has no deployment`);
    return found;
  }

  #revision(target: TargetSpec, revisionId: string): Revision {
    const found = this.#of(target).revisions.find((revision) => revision.revisionId === revisionId);
    if (found === undefined) {
      throw new SlipwayError('SLIPWAY_NOT_FOUND', `"${target.name}" has no revision ${revisionId}`);
    }
    return found;
  }
}

function add({ target, revisions }: Deployment, revision: Omit<Revision, 'revisionId'>): Revision {
  const added = {
    ...revision,
    revisionId: `${target.name}-${revisions.length + 1}`,
  };
  revisions.push(added);
  return added;
}

/** What came up last serves. */
function serving(revisions: readonly Revision[], now: number): Revision | undefined {
  return revisions
    .filter(({ ends, readyAt }) => ends === 'DEPLOYED' && readyAt <= now)
    .sort((one, other) => one.readyAt - other.readyAt)
    .at(-1);
}

function snapshot(revision: Revision, now: number): RevisionSnapshot {
  const { revisionId, artifact, tarballPath, ends, readyAt } = revision;
  const status = now < readyAt ? 'BUILDING' : ends;
  const imageUri = artifact.kind === 'image' ? artifact.uri : null;
  const repoRef = artifact.kind === 'git' ? artifact.ref : null;
  const reason = status === 'BUILD_FAILED' ? 'the build fails' : null;
  return { revisionId, status, tarballPath, imageUri, repoRef, reason };
}
