import type { ActivityFact, ObservedRevision, TargetFacts, WorkFact } from './facts.ts';
import { latestIn, seenBeforePatch } from './ownRevision.ts';
import type { Rule, Violation } from './violation.ts';

/**
 * Rule 2: one release's PATCH creates at most one revision. It is sent again only if the one before was surely not
 * taken, or if reading showed that it made none: the latest revision had not moved, or a list that reaches back to what
 * was there before holds none of ours. What is there twice all the same is reported. The same for creating a deployment.
 */
export const oneRevision: Rule = ({ target, observed }) =>
  target.works.flatMap((work) => [
    ...sentAgainBlindly(work, 'patchDeployment', showsNoPatch(work)),
    ...sentAgainBlindly(work, 'createDeployment', ({ name }) =>
      ['findDeployment', 'readDeployment'].includes(name),
    ),
    ...sentAgainWithoutKey(work),
    ...unreportedExtras(work, observed ?? [], [...followed(target.works), ...landedLate(target)]),
  ]);

function sentAgainBlindly(
  { workflowId, activities }: WorkFact,
  name: ActivityFact['name'],
  tells: (read: ActivityFact) => boolean,
): Violation[] {
  const sent = activities.filter((activity) => activity.name === name);
  return sent.slice(1).flatMap((again, index): Violation[] => {
    const before = sent[index];
    if (before === undefined || !before.mayHaveBeenTaken) return [];
    const looked = activities.some(
      (read) =>
        tells(read) &&
        read.outcome === 'completed' &&
        read.scheduledAt >= (before.endedAt ?? before.scheduledAt) &&
        (read.endedAt ?? Infinity) <= again.scheduledAt,
    );
    if (before.outcome !== 'completed' && looked) return [];
    const why =
      before.outcome === 'completed'
        ? 'had been answered'
        : 'may have been taken, and no look showed that it was not';
    return [{ rule: 2, workflowId, what: `${name} was sent again although the one before ${why}` }];
  });
}

/** Whether a look shows that an unanswered PATCH has made no revision. */
function showsNoPatch(work: WorkFact): (read: ActivityFact) => boolean {
  const { ids, latest } = seenBeforePatch(work);
  return ({ name, input, result }) => {
    if (name === 'readDeployment') return latest === undefined || latestIn(result) === latest;
    if (name !== 'listRevisions' || !Array.isArray(result?.['revisions'])) return false;
    const listed = result['revisions'] as readonly { readonly revisionId: string }[];
    const reachesBack = listed.length < PAGE || listed.some(({ revisionId }) => ids.has(revisionId));
    return input['since'] !== undefined || reachesBack;
  };
}

/** What the shortest page of a list holds that may go on. */
const PAGE = 50;

/** An image or a git ref is no key by which a revision could be recognized. */
function sentAgainWithoutKey({ workflowId, activities }: WorkFact): Violation[] {
  const patches = activities.filter(({ name }) => name === 'patchDeployment');
  const unknown = patches.findIndex(
    ({ mayHaveBeenTaken, outcome, input }) =>
      mayHaveBeenTaken && outcome !== 'completed' && input['objectPath'] === null,
  );
  if (unknown === -1 || unknown === patches.length - 1) return [];
  const what = 'a PATCH of an image or a git ref was sent again after an unknown answer';
  return [{ rule: 2, workflowId, what }];
}

function unreportedExtras(
  { workflowId, activities, result }: WorkFact,
  observed: readonly ObservedRevision[],
  known: readonly unknown[],
): Violation[] {
  if (result === null) return [];
  const paths = activities.flatMap(({ name, input }) =>
    name === 'patchDeployment' && typeof input['objectPath'] === 'string' ? [input['objectPath']] : [],
  );
  const ours = observed.filter(({ tarballPath }) => tarballPath !== null && paths.includes(tarballPath));
  const reported = [result.revisionId, ...result.extraRevisionIds, ...result.givenUpRevisionIds, ...known];
  return ours
    .filter(({ revisionId }) => !reported.includes(revisionId))
    .map(({ revisionId }) => ({
      rule: 2,
      workflowId,
      what: `revision ${revisionId} carries its artifact, and the release does not tell of it`,
    }));
}

/** What a target found after its releases had ended. */
function landedLate({ activities }: TargetFacts): unknown[] {
  return activities
    .filter(({ name }) => name === 'awaitLateUpload')
    .map(({ result }) => result?.['revisionId']);
}

/**
 * The revisions that were followed on purpose. One that a redeploy made of an earlier one carries the same upload, and is
 * no extra.
 */
function followed(works: readonly WorkFact[]): unknown[] {
  return works
    .flatMap(({ activities }) => activities)
    .filter(({ name }) => name === 'awaitDeployed')
    .map(({ input }) => input['revisionId']);
}
