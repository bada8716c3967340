import type { ActivityFact, ObservedRevision, Rule, TargetFacts, Violation, WorkFact } from './facts.ts';

/**
 * Rule 3: a release follows its own revision, never "the newest": what it awaits is what its PATCH made or its redeploy
 * asked for, and a release that ended `released` has awaited just the revision that it claims. What it had seen before
 * its PATCH is not what the PATCH made, whatever an answer names.
 */
export const ownRevision: Rule = ({ target }) =>
  target.works.flatMap((work) => {
    const own = ownRevisions(work);
    return work.activities
      .filter(({ name }) => name === 'awaitDeployed')
      .flatMap((awaited) => {
        const revisionId = String(awaited.input['revisionId']);
        if (own.has(revisionId)) return [];
        const what = `it followed revision ${revisionId}, which it neither made nor asked for`;
        return [{ rule: 3 as const, workflowId: work.workflowId, what }];
      });
  });

/** What its PATCH and its redeploys made, as far as answers and looks afterwards showed. */
function ownRevisions(work: WorkFact): ReadonlySet<string> {
  const { activities, result } = work;
  const own = new Set<string>();
  if (result?.revisionId != null) own.add(result.revisionId);
  for (const activity of activities) if (activity.name === 'patchDeployment') addLatest(own, activity);
  const seen = seenBeforePatch(work).ids;
  for (const revisionId of adopted(activities, seen)) own.add(revisionId);
  for (const revisionId of seen) own.delete(revisionId);
  for (const activity of activities) {
    if (activity.name !== 'redeployRevision') continue;
    own.add(String(activity.input['revisionId']));
    addLatest(own, activity);
  }
  // A redeploy that went unanswered, and made a revision of its own: a look told which.
  const redeployed = activities.findIndex(({ name }) => name === 'redeployRevision');
  const looks = redeployed === -1 ? [] : activities.slice(redeployed);
  for (const look of looks) if (look.name === 'readDeployment') addLatest(own, look);
  return own;
}

/**
 * What looks after a PATCH showed to be its revision, if its answer did not: there was none, or it named a revision seen
 * before. A release that still runs has no result to say so.
 */
function adopted(activities: readonly ActivityFact[], seen: ReadonlySet<string>): readonly string[] {
  return activities.flatMap((patch, index) => {
    if (patch.name !== 'patchDeployment') return [];
    const named = latestIn(patch.result);
    if (named != null && !seen.has(named)) return [];
    const path = patch.input['objectPath'] ?? null;
    return activities.slice(index).flatMap(({ name, result }) => {
      const deployment = result?.['deployment'] as Latest | undefined;
      const revisions = (result?.['revisions'] ?? []) as readonly Listed[];
      const isRead = name === 'readDeployment' && (path === null || deployment?.latestTarballPath === path);
      return [
        ...(isRead && deployment?.latestRevisionId != null ? [deployment.latestRevisionId] : []),
        ...revisions
          .filter(({ tarballPath }) => path !== null && tarballPath === path)
          .map((it) => it.revisionId),
      ];
    });
  });
}

interface Latest {
  readonly latestRevisionId?: string | null;
  readonly latestTarballPath?: string | null;
}

interface Listed {
  readonly revisionId: string;
  readonly tarballPath: string | null;
}

function addLatest(own: Set<string>, { result }: ActivityFact): void {
  const latest = latestIn(result);
  if (latest != null) own.add(latest);
}

/** Rule 4: a check counts only when the revision that is followed is the active one. */
export const servedWhenChecked: Rule = ({ target }) =>
  target.works.flatMap(({ workflowId, activities }) => {
    const changed = activities.findIndex(
      ({ name }) => name === 'patchDeployment' || name === 'redeployRevision',
    );
    if (changed === -1) return [];
    return activities.flatMap((check, index) => {
      if (index < changed || check.name !== 'runCheck' || check.outcome !== 'completed') return [];
      const revisionId = check.input['revisionId'];
      const served = activities
        .slice(0, index)
        .some(
          ({ name, outcome, input }) =>
            name === 'confirmServing' && outcome === 'completed' && input['revisionId'] === revisionId,
        );
      if (served) return [];
      const what = `a check of revision ${String(revisionId)} counted before that revision was known to serve`;
      return [{ rule: 4 as const, workflowId, what }];
    });
  });

/** What a release had seen of its deployment before its first PATCH: none of it is what the PATCH made. */
function seenBeforePatch({ known, activities }: WorkFact): {
  readonly ids: ReadonlySet<string>;
  /** The latest revision; `undefined`: it had not looked. */
  readonly latest: string | null | undefined;
} {
  const first = activities.findIndex(({ name }) => name === 'patchDeployment');
  const before = first === -1 ? [] : activities.slice(0, first);
  const deployments = before.flatMap(({ result }) => deploymentIn(result) ?? []);
  const seen = deployments.flatMap(({ latestRevisionId, activeRevisionId }) => [
    latestRevisionId,
    activeRevisionId,
  ]);
  return {
    ids: new Set([...known.map(({ revisionId }) => revisionId), ...seen.flatMap((id) => id ?? [])]),
    latest: deployments.length === 0 ? undefined : (deployments.at(-1)?.latestRevisionId ?? null),
  };
}

/** The latest revision of the deployment that an activity came to; `undefined`: it came to none. */
function latestIn(result: ActivityFact['result']): string | null | undefined {
  const deployment = deploymentIn(result);
  return deployment === undefined ? undefined : (deployment.latestRevisionId ?? null);
}

/** The active revision of the deployment that an activity came to; `undefined`: it came to none. */
export function activeIn({ result }: ActivityFact): string | null | undefined {
  return deploymentIn(result)?.activeRevisionId;
}

function deploymentIn(result: ActivityFact['result']): Seen | undefined {
  return (result?.['deployment'] as Seen | null | undefined) ?? undefined;
}

interface Seen {
  readonly latestRevisionId?: string | null;
  readonly activeRevisionId?: string | null;
}

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
  // One that says that it cannot tell what came of its upload has told of whatever carries it.
  const untold = result.code === 'SLIPWAY_OUTCOME_UNKNOWN' ? result.unansweredUpload : undefined;
  const paths = activities.flatMap(({ name, input }) =>
    name === 'patchDeployment' && typeof input['objectPath'] === 'string' && input['objectPath'] !== untold
      ? [input['objectPath']]
      : [],
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
