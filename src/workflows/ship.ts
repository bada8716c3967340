import { type ApplicationFailure, CancellationScope, condition } from '@temporalio/workflow';

import type { Activities } from '../activities/activities.ts';
import { describeArtifact } from '../domain/artifact.ts';
import type { KnownRevision, ReleaseRequest } from '../domain/release.ts';
import type { DeploymentSnapshot } from '../domain/revision.ts';
import type { StepPolicy } from '../domain/step.ts';
import { explain, pipelineFailure } from './failure.ts';
import type { Journal } from './journal.ts';
import { backoff, CANNOT_TELL, sendOnce } from './sendOnce.ts';
import { activitiesOf, stepPolicy } from './steps.ts';

/** How often an answered PATCH's revision is looked for. */
const LOOKS_FOR_OURS = 6;

/** What the steps that ship an artifact share. */
export interface Shipment {
  readonly journal: Journal;
  readonly request: ReleaseRequest;
  /** Whether the release has been told to stop. */
  readonly stopped: () => boolean;
}

/** Finds the target's deployment; `null` where there is none yet. */
export async function findDeployment({ journal, request }: Shipment): Promise<DeploymentSnapshot | null> {
  const { target } = request;
  return journal.step('find', target.deployment, async (activities) => {
    const { deployment, attempt } = await activities.findDeployment({ target });
    return { result: deployment, attempts: attempt, detail: deployment?.deploymentId ?? 'there is none yet' };
  });
}

/**
 * Finds the target's deployment, or creates it.
 *
 * @returns the deployment, and whether it was made here.
 */
export async function findOrCreateDeployment(
  shipment: Shipment,
): Promise<{ readonly deployment: DeploymentSnapshot; readonly created: boolean }> {
  const found = await findDeployment(shipment);
  const result = found === null ? await create(shipment) : { deployment: found, created: false };
  shipment.journal.note({ deploymentId: result.deployment.deploymentId });
  return result;
}

/** @returns the deployment, and whether an answer says that it was made here: if not, anyone may have made it. */
async function create(
  shipment: Shipment,
): Promise<{ readonly deployment: DeploymentSnapshot; readonly created: boolean }> {
  const { journal, request, stopped } = shipment;
  const { target, artifact, graphConfigPath } = request;
  // Names are unique on a control plane: a deployment of that name is the one that was asked for.
  const find = async () => (await readsOf(journal).findDeployment({ target })).deployment ?? undefined;
  let isConflict = false;
  return CancellationScope.nonCancellable(() =>
    journal.step('create', target.deployment, async (activities) => {
      const { result, answered, attempts } = await sendOnce({
        what: 'the request to create the deployment',
        send: async () => {
          try {
            return (await activities.createDeployment({ target, artifact, graphConfigPath })).deployment;
          } catch (error) {
            const { code, message } = explain(error);
            if (code !== 'SLIPWAY_CONFLICT') throw error;
            isConflict = true;
            const found = await find();
            if (found !== undefined) return found;
            const what = `no deployment "${target.deployment}" can be found`;
            const hint = `choose another name, or set targets.${target.name}.deploymentId`;
            throw pipelineFailure('SLIPWAY_CONFLICT', `${message}; ${what}: ${hint}`);
          }
        },
        settle: find,
        policy: stepPolicy('create', journal.overrides),
        abandoned: stopped,
      });
      const deployment = { deployment: result, created: answered && !isConflict };
      return { result: deployment, attempts, detail: result.deploymentId };
    }),
  );
}

/**
 * Uploads the artifact, where it is a tarball.
 *
 * @returns the object path, unique to this upload: the key by which a PATCH of ours is recognized.
 */
export async function upload(shipment: Shipment, deploymentId: string): Promise<string | null> {
  const { journal, request } = shipment;
  const { artifact, target } = request;
  if (artifact.kind !== 'tarball') return null;
  return journal.step('upload', describeArtifact(artifact), async (activities) => {
    const { objectPath, attempt } = await activities.uploadArtifact({ target, deploymentId, artifact });
    return { result: objectPath, attempts: attempt, detail: `${artifact.sizeBytes} bytes` };
  });
}

/** What was there before a PATCH. */
export interface Before {
  readonly deployment: DeploymentSnapshot;
  /** The revisions that the target knows. */
  readonly known: readonly KnownRevision[];
}

/** The revision that a PATCH made. */
export interface Patched {
  readonly revisionId: string;
  /** Whether an answer was missing on the way: a request given up on can still land later. */
  readonly ambiguous: boolean;
}

/**
 * PATCHes the deployment to the artifact: the one call that makes the release's revision. At most one revision comes
 * of it: after an unknown answer a revision that carries our upload path is adopted.
 *
 * @param sentBefore - whether an earlier try of this step ended without an answer: then it is looked for first.
 */
export async function patch(
  shipment: Shipment,
  before: Before,
  objectPath: string | null,
  sentBefore: boolean,
): Promise<Patched> {
  const { journal, request, stopped } = shipment;
  const { target, artifact, graphConfigPath } = request;
  const { deploymentId } = before.deployment;
  return CancellationScope.nonCancellable(() =>
    journal.step('patch', undefined, async (activities) => {
      const reads = readsOf(journal);
      const identify = (seen: Seen) => identifyOurs(reads, shipment, before, objectPath, seen);
      const findOurs = async (isAnswered: boolean) => {
        const { deployment } = await reads.readDeployment({ target, deploymentId });
        const named = latestIfOurs(deployment, shipment, before, objectPath);
        return identify({ latest: deployment.latestRevisionId, named, isAnswered });
      };
      const policy = stepPolicy('patch', journal.overrides);
      const { result, answered, attempts, unknownAnswers } = await sendOnce<string | null>({
        what: 'the PATCH',
        send: async () => {
          const input = { target, deploymentId, artifact, objectPath, graphConfigPath };
          const { deployment } = await activities.patchDeployment(input);
          return latestIfOurs(deployment, shipment, before, objectPath);
        },
        settle: () => findOurs(false),
        policy,
        abandoned: stopped,
        sentBefore,
      });
      // A PATCH that was answered made a revision, and is never sent again: ours is there, or will be. A release that
      // is told to stop does not wait for the proof.
      const proof = (named: string): Promise<Ours> =>
        Promise.race([
          identify({ latest: named, named, isAnswered: true }),
          condition(stopped).then(() => named),
        ]);
      const first = answered && result !== null ? [() => proof(result)] : [];
      const revisionId =
        !answered && result !== null ? result : await awaitOurs(first, () => findOurs(true), policy, stopped);
      journal.note({ revisionId });
      return {
        result: { revisionId, ambiguous: unknownAnswers > 0 },
        attempts,
        detail: answered ? `revision ${revisionId}` : `adopted revision ${revisionId}`,
      };
    }),
  );
}

/**
 * Every revision that carries our upload path beyond the one that was followed: what a request that landed late, or
 * twice, has left (design, rule 2). `null` if the list of revisions does not tell.
 *
 * @param since - a revision of before the PATCH; `null`: there was none.
 */
export async function findExtraRevisions(
  shipment: Shipment,
  deploymentId: string,
  objectPath: string,
  followed: string | null,
  since: string | null,
): Promise<readonly string[] | null> {
  const { target } = shipment.request;
  const { revisions } = await readsOf(shipment.journal).listRevisions({ target, deploymentId, since });
  if (revisions === null) return null;
  return revisions
    .filter((revision) => revision.tarballPath === objectPath && revision.revisionId !== followed)
    .map((revision) => revision.revisionId);
}

/** What reading says of the revision that our PATCH made; `undefined`: it (so far) made none. */
type Ours = string | undefined | typeof CANNOT_TELL;

/** A deployment as an answer shows it after our PATCH. */
interface Seen {
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
async function identifyOurs(
  reads: Activities,
  shipment: Shipment,
  before: Before,
  objectPath: string | null,
  { latest, named, isAnswered }: Seen,
): Promise<Ours> {
  const { target } = shipment.request;
  const { deploymentId, latestRevisionId: since } = before.deployment;
  if (objectPath !== null) {
    if (named !== null) {
      const { revision } = await reads.readRevision({ target, deploymentId, revisionId: named });
      if (revision.tarballPath === null || revision.tarballPath === objectPath) return named;
    } else if (latest === since) return undefined;
    const { revisions } = await reads.listRevisions({ target, deploymentId, since });
    const ours = revisions?.findLast(({ tarballPath }) => tarballPath === objectPath);
    if (ours !== undefined) return ours.revisionId;
    // Somebody else's revisions came, and no list shows that ours is not behind them.
    return revisions?.every(({ tarballPath }) => tarballPath !== null) === true ? undefined : CANNOT_TELL;
  }
  // Without an answer, ours may not be there at all, and somebody else's be the only one.
  if (named === null && !isAnswered) return CANNOT_TELL;
  const { artifact } = shipment.request;
  const wanted = artifact.kind === 'image' ? artifact.uri : artifact.kind === 'git' ? artifact.ref : null;
  const carries = (source: string | null): boolean => source === null || source === wanted;
  const { revisions } = await reads.listRevisions({ target, deploymentId, since });
  if (revisions === null) return named ?? CANNOT_TELL;
  const mayBeOurs = revisions.filter(
    ({ revisionId, imageUri, repoRef, tarballPath }) =>
      !isFromBefore(before, revisionId) && carries(imageUri ?? repoRef ?? tarballPath),
  );
  const [only, ...others] = mayBeOurs;
  return only === undefined || others.length > 0 ? CANNOT_TELL : only.revisionId;
}

/** Reads until the revision of an answered PATCH can be seen, or nobody wants it any more. */
async function awaitOurs(
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
  throw unknown('reading does not tell which new revision of the deployment it made');
}

/**
 * The latest revision, if our PATCH made it; else `null`. It must carry our artifact, because somebody else's PATCH may
 * have come right after ours. And it must be new: an answer may name the latest revision of before, and an image or a
 * git ref that was released before is no proof (design, rule 3).
 */
function latestIfOurs(
  deployment: DeploymentSnapshot,
  shipment: Shipment,
  before: Before,
  objectPath: string | null,
): string | null {
  const { latestRevisionId: latest } = deployment;
  if (latest === null || isFromBefore(before, latest)) return null;
  return carriesOurs(deployment, shipment, objectPath) ? latest : null;
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
  { request: { artifact } }: Shipment,
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

/** Reads within a step that changes something: under the reading step's own deadlines and retries. */
function readsOf(journal: Journal): Activities {
  return activitiesOf('find', journal.overrides, 'read what became of it');
}
