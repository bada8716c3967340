import { type ApplicationFailure, condition } from '@temporalio/workflow';

import type { Activities } from '../../activities/activities.ts';
import type { DeploymentSnapshot } from '../../domain/deployment/revision.ts';
import type { KnownRevision, ReleaseRequest } from '../../domain/release/release.ts';
import type { StepPolicy } from '../../domain/step.ts';
import { explain, pipelineFailure } from '../failure.ts';
import { backoff, OUTCOME_UNKNOWN } from '../sendAtMostOnce.ts';

/** How often an answered PATCH's revision is looked for. */
const LOOKS_FOR_OURS = 6;

/** What was there before a PATCH. */
export interface Before {
  readonly deployment: DeploymentSnapshot;
  /** The revisions that the target knows. */
  readonly known: readonly KnownRevision[];
}

/** What reading says of the revision that our PATCH made; `undefined`: it (so far) made none. */
export type Ours = string | undefined | typeof OUTCOME_UNKNOWN;

/** A deployment as an answer shows it after our PATCH. */
export interface Seen {
  readonly latest: string | null;
  /** The latest revision, if it is new and shown with our artifact; else `null`. */
  readonly named: string | null;
  /** Whether our PATCH was answered, and so was taken. */
  readonly isAnswered: boolean;
}

/**
 * Reads which new revision our PATCH made. One that an answer names may be somebody else's, because an answer can mix
 * two PATCHes. A tarball's path proves it. An image or a git ref proves nothing: there must be no other new revision of
 * it, as far as the control plane lists them.
 */
export async function identifyOurs(
  reads: Activities,
  request: ReleaseRequest,
  before: Before,
  objectPath: string | null,
  { latest, named, isAnswered }: Seen,
): Promise<Ours> {
  const { target, artifact } = request;
  const { deploymentId, latestRevisionId: since } = before.deployment;
  if (objectPath !== null) {
    if (named !== null) {
      const { revision } = await reads.readRevision({ target, deploymentId, revisionId: named });
      if (revision.tarballPath === null || revision.tarballPath === objectPath) return named;
    } else if (latest === since) return undefined;
    const { revisions } = await reads.listRevisions({ target, deploymentId, since });
    const ours = revisions?.findLast(({ tarballPath }) => tarballPath === objectPath);
    if (ours !== undefined) return ours.revisionId;
    // Revisions of others came, and no list shows that ours is not behind them.
    return revisions?.every(({ tarballPath }) => tarballPath !== null) === true ? undefined : OUTCOME_UNKNOWN;
  }
  // Without an answer, ours may not exist at all, and the only one be another client's.
  if (named === null && !isAnswered) return OUTCOME_UNKNOWN;
  const wanted = artifact.kind === 'image' ? artifact.uri : artifact.kind === 'git' ? artifact.ref : null;
  const carries = (source: string | null): boolean => source === null || source === wanted;
  const { revisions } = await reads.listRevisions({ target, deploymentId, since });
  if (revisions === null) return named ?? OUTCOME_UNKNOWN;
  const mayBeOurs = revisions.filter(
    ({ revisionId, imageUri, repoRef, tarballPath }) =>
      !isFromBefore(before, revisionId) && carries(imageUri ?? repoRef ?? tarballPath),
  );
  const [only, ...others] = mayBeOurs;
  return only === undefined || others.length > 0 ? OUTCOME_UNKNOWN : only.revisionId;
}

/** Reads until the revision of an answered PATCH can be seen, or it is no longer wanted. */
export async function awaitOurs(
  first: readonly (() => Promise<Ours>)[],
  find: () => Promise<Ours>,
  policy: StepPolicy,
  stopped: () => boolean,
): Promise<string> {
  const unknown = (why: string): ApplicationFailure =>
    pipelineFailure('SLIPWAY_OUTCOME_UNKNOWN', `the PATCH was answered, but ${why}`, true);
  for (let looks = 1; looks <= LOOKS_FOR_OURS; looks++) {
    let found: Ours;
    try {
      found = await (first[looks - 1] ?? find)();
    } catch (error) {
      throw unknown(`the deployment could not be read: ${explain(error).message}`);
    }
    if (typeof found === 'string') return found;
    if (looks < LOOKS_FOR_OURS) await condition(stopped, backoff(policy.retry, looks));
  }
  throw unknown('reading the deployment does not show which new revision it made');
}

/**
 * The latest revision, if our PATCH made it; else `null`. It must carry our artifact, because somebody else's PATCH may
 * have come right after ours. And it must be new: an answer may name the latest revision of before, and an image or a
 * git ref that was released before is no proof (design, rule 3).
 */
export function latestIfOurs(
  deployment: DeploymentSnapshot,
  request: ReleaseRequest,
  before: Before,
  objectPath: string | null,
): string | null {
  const { latestRevisionId: latest } = deployment;
  if (latest === null || isFromBefore(before, latest)) return null;
  return carriesOurs(deployment, request, objectPath) ? latest : null;
}

/** Whether a revision was there before our PATCH. */
function isFromBefore({ deployment, known }: Before, id: string): boolean {
  const { latestRevisionId, activeRevisionId } = deployment;
  return (
    id === latestRevisionId || id === activeRevisionId || known.some(({ revisionId }) => revisionId === id)
  );
}

function carriesOurs(
  deployment: DeploymentSnapshot,
  { artifact }: ReleaseRequest,
  objectPath: string | null,
): boolean {
  switch (artifact.kind) {
    case 'tarball':
      return deployment.latestTarballPath === objectPath;
    case 'image':
      return deployment.latestImageUri === artifact.uri;
    case 'git':
      return deployment.latestRepoRef === artifact.ref;
  }
}
