import { type ApplicationFailure, condition, sleep } from '@temporalio/workflow';

import type { Activities } from '../../activities/activities.ts';
import type { DeploymentSnapshot } from '../../domain/deployment/revision.ts';
import type { KnownRevision, ReleaseRequest } from '../../domain/release/release.ts';
import { backoffMs, type StepPolicy } from '../../domain/step.ts';
import { explain, pipelineFailure } from '../failure.ts';
import { OUTCOME_UNKNOWN } from '../sendAtMostOnce.ts';

/** How many times to look for the revision of an answered PATCH. */
const LOOKS_FOR_OURS = 6;
/** The pause between two looks once the release was asked to stop, in milliseconds: reads may lag behind a PATCH. */
const STOPPING_PAUSE_MS = 500;

/** The state before a PATCH. */
export interface Before {
  readonly deployment: DeploymentSnapshot;
  /** Whether this release created the deployment. */
  readonly created: boolean;
  readonly known: readonly KnownRevision[];
}

/** The revision that our PATCH made, as far as reads show; `undefined` if it has made none yet. */
export type Ours = string | undefined | typeof OUTCOME_UNKNOWN;

/** The deployment as an answer shows it after our PATCH. */
export interface Seen {
  readonly latest: string | null;
  /** The latest revision, if it is new and carries our artifact; else `null`. */
  readonly named: string | null;
  /** Whether the control plane answered our PATCH, and so applied it. */
  readonly isAnswered: boolean;
}

/**
 * Identifies the new revision that our PATCH made. An answer can mix two PATCHes, so the revision that it names may
 * be another client's. A tarball's upload path is proof. An image URI or a git ref is not: our PATCH made the
 * revision only if the control plane lists no other new revision of the same image or ref.
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
      const { revision } = await reads.readRevision({
        target,
        deploymentId,
        revisionId: named,
        isNew: true,
      });
      if (revision.tarballPath === null || revision.tarballPath === objectPath) return named;
    } else if (latest === since) return undefined;
    const { revisions } = await reads.listRevisions({ target, deploymentId, since });
    const ours = revisions?.findLast(({ tarballPath }) => tarballPath === objectPath);
    if (ours !== undefined) return ours.revisionId;
    // There are new revisions of other clients. Without every tarball path, one of them may be ours.
    return revisions?.every(({ tarballPath }) => tarballPath !== null) === true ? undefined : OUTCOME_UNKNOWN;
  }
  // Without an answer, the PATCH may not have been applied: the only new revision may be another client's.
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

/** Reads until the revision of an answered PATCH appears. Gives up sooner if the release was asked to stop. */
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
    if (looks === LOOKS_FOR_OURS) break;
    if (stopped()) await sleep(STOPPING_PAUSE_MS);
    else await condition(stopped, backoffMs(policy.retry, looks));
  }
  throw unknown('reading the deployment does not show which new revision it made');
}

/**
 * The latest revision, if our PATCH made it; else `null`. It must carry our artifact, because another client's PATCH
 * may have come right after ours. It must also be new: the answer may still name the previous latest revision, which
 * may carry the same image or git ref (design, rule 3).
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

/** Whether a revision existed before our PATCH. */
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
