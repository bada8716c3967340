import type { DeploymentSnapshot } from '../deployment/revision.ts';
import {
  type ActivityFact,
  firstChange,
  fromFirstRedeploy,
  named,
  type ObservedRevision,
  perWork,
  revisionOf,
  type TargetFacts,
  type WorkFact,
} from './facts.ts';

/**
 * Rule 3: a release follows its own revision, never "the newest": the one that its PATCH made or its redeploy
 * requested. A revision seen before the PATCH is not its own, even if an answer names it.
 */
export const ownRevision = perWork((work) => {
  const own = ownRevisions(work);
  return named(work.activities, 'awaitDeployed')
    .map(revisionOf)
    .filter((revisionId) => !own.has(revisionId))
    .map((revisionId) => `it followed revision ${revisionId}, which it neither made nor asked for`);
});

/** The revisions that its PATCH and its redeploys made, according to answers and later reads. */
function ownRevisions(work: WorkFact): ReadonlySet<string | null | undefined> {
  const { activities, result } = work;
  const seen = seenBeforePatch(work).ids;
  const answered = named(activities, 'patchDeployment').map(latestIn);
  const made = [result?.revisionId, ...answered, ...adopted(activities, seen)];
  // A redeploy may make a new revision. If it goes unanswered, reads show which.
  const restored = fromFirstRedeploy(activities).flatMap((activity) => {
    if (activity.name === 'readDeployment') return [latestIn(activity)];
    return activity.name === 'redeployRevision' ? [revisionOf(activity), latestIn(activity)] : [];
  });
  return new Set([...made.filter((id) => id != null && !seen.has(id)), ...restored]);
}

/** The revision that reads after a PATCH showed as its own. A running release has no result to name it. */
function adopted(activities: readonly ActivityFact[], seen: ReadonlySet<string>): readonly string[] {
  return activities.flatMap((patch, index) => {
    if (patch.name !== 'patchDeployment') return [];
    const answered = latestIn(patch);
    if (answered != null && !seen.has(answered)) return [];
    const path = patch.input['objectPath'] ?? null;
    return activities.slice(index).flatMap((look) => {
      const { latestRevisionId, latestTarballPath } = deploymentIn(look) ?? {};
      const isOurs = look.name === 'readDeployment' && (path === null || latestTarballPath === path);
      const revisions = (look.result?.['revisions'] ?? []) as readonly ObservedRevision[];
      return [
        ...(isOurs && latestRevisionId != null ? [latestRevisionId] : []),
        ...revisions
          .filter(({ tarballPath }) => path !== null && tarballPath === path)
          .map((it) => it.revisionId),
      ];
    });
  });
}

/** Rule 4: a check counts only if the followed revision is active. */
export const servedWhenChecked = perWork(({ activities }) => {
  const changed = firstChange(activities);
  const isCounted = ({ name, outcome }: ActivityFact, index: number): boolean =>
    changed !== -1 && index >= changed && name === 'runCheck' && outcome === 'completed';
  return activities.flatMap((check, index) => {
    const served = named(activities.slice(0, index), 'confirmServing').some(
      (serving) => serving.outcome === 'completed' && copyOrRevision(serving) === revisionOf(check),
    );
    if (served || !isCounted(check, index)) return [];
    return `a check of revision ${revisionOf(check)} counted before that revision was known to serve`;
  });
});

/** The revision that `confirmServing` found active: the awaited one, or the copy of it that a redeploy made. */
function copyOrRevision(serving: ActivityFact): unknown {
  return serving.result?.['copyId'] ?? revisionOf(serving);
}

/** What a release read of its deployment before its first PATCH. None of these revisions is the PATCH's. */
function seenBeforePatch({ known, activities }: WorkFact) {
  const first = activities.findIndex(({ name }) => name === 'patchDeployment');
  const looks = activities.slice(0, Math.max(first, 0)).flatMap((look) => deploymentIn(look) ?? []);
  const seen = looks.flatMap(({ latestRevisionId, activeRevisionId }) => [
    latestRevisionId,
    activeRevisionId,
  ]);
  const last = looks.at(-1);
  return {
    ids: new Set([...known.map(({ revisionId }) => revisionId), ...seen.flatMap((id) => id ?? [])]),
    /** The latest revision; `undefined` if it had not read. */
    latest: last === undefined ? undefined : (last.latestRevisionId ?? null),
  };
}

/** The latest revision in an activity's result; `undefined` if it has no deployment. */
function latestIn(activity: ActivityFact): string | null | undefined {
  const deployment = deploymentIn(activity);
  return deployment === undefined ? undefined : (deployment.latestRevisionId ?? null);
}

/** The active revision in an activity's result; `undefined` if it has no deployment. */
export function activeIn(activity: ActivityFact): string | null | undefined {
  return deploymentIn(activity)?.activeRevisionId;
}

function deploymentIn({ result }: ActivityFact): Partial<DeploymentSnapshot> | undefined {
  return (result?.['deployment'] as DeploymentSnapshot | null | undefined) ?? undefined;
}

/**
 * Rule 2: a PATCH creates at most one revision. It is repeated only if the previous attempt was certainly not
 * applied, or if reads showed that it made no revision. Extra revisions are reported. The same applies to creating a
 * deployment.
 */
export const oneRevision = perWork((work, { target, observed }) => [
  ...sentAgainBlindly(work, 'patchDeployment', showsNoPatch(work)),
  ...sentAgainBlindly(work, 'createDeployment', ({ name }) =>
    ['findDeployment', 'readDeployment'].includes(name),
  ),
  ...sentAgainWithoutKey(work),
  ...unreportedExtras(work, observed ?? [], accountedFor(target)),
]);

function sentAgainBlindly(
  { activities }: WorkFact,
  name: string,
  tells: (read: ActivityFact) => boolean,
): string[] {
  const sent = named(activities, name);
  return sent.slice(1).flatMap((again, index) => {
    const before = sent[index];
    if (before === undefined || !before.mayHaveBeenTaken) return [];
    if (before.outcome === 'completed')
      return `${name} was sent again although the one before had been answered`;
    const looked = activities.some(
      (read) =>
        tells(read) &&
        read.outcome === 'completed' &&
        read.scheduledAt >= (before.endedAt ?? before.scheduledAt) &&
        (read.endedAt ?? Infinity) <= again.scheduledAt,
    );
    if (looked) return [];
    return `${name} was sent again although the previous one may have been taken, and no read showed otherwise`;
  });
}

/** Whether a read shows that an unanswered PATCH made no revision. */
function showsNoPatch(work: WorkFact): (read: ActivityFact) => boolean {
  const { ids, latest } = seenBeforePatch(work);
  return (look) => {
    if (look.name === 'readDeployment') return latest === undefined || latestIn(look) === latest;
    const listed = look.result?.['revisions'] as readonly ObservedRevision[] | null | undefined;
    if (look.name !== 'listRevisions' || listed == null) return false;
    const reachesBack = listed.length < PAGE || listed.some(({ revisionId }) => ids.has(revisionId));
    return look.input['since'] !== undefined || reachesBack;
  };
}

/** The shortest page size of a list that may have a next page. */
const PAGE = 50;

/** An image or a git ref cannot identify a revision. */
function sentAgainWithoutKey({ activities }: WorkFact): string[] {
  const patches = named(activities, 'patchDeployment');
  const unknown = patches.findIndex(
    ({ mayHaveBeenTaken, outcome, input }) =>
      mayHaveBeenTaken && outcome !== 'completed' && input['objectPath'] === null,
  );
  return unknown === -1 || unknown === patches.length - 1
    ? []
    : ['a PATCH of an image or a git ref was sent again after an unknown answer'];
}

function unreportedExtras(
  { activities, result }: WorkFact,
  observed: readonly ObservedRevision[],
  known: readonly unknown[],
): string[] {
  if (result === null) return [];
  // A release whose upload has an unknown outcome has reported every revision that carries it.
  const untold = result.code === 'SLIPWAY_OUTCOME_UNKNOWN' ? result.unansweredUpload : undefined;
  const paths = named(activities, 'patchDeployment')
    .map(({ input }) => input['objectPath'])
    .filter((path) => typeof path === 'string' && path !== untold);
  const reported = [result.revisionId, ...result.extraRevisionIds, ...result.givenUpRevisionIds, ...known];
  return observed
    .filter(({ tarballPath, revisionId }) => paths.includes(tarballPath) && !reported.includes(revisionId))
    .map(
      ({ revisionId }) => `revision ${revisionId} carries its artifact, and the release does not report it`,
    );
}

/** Revisions that were followed on purpose or found late. A redeploy's copy, also another tool's, carries the same upload. */
function accountedFor({ works, activities }: TargetFacts): readonly unknown[] {
  const known = works.flatMap((work) => [...work.known, ...(work.result?.knownRevisions ?? [])]);
  return [
    ...known.filter(({ copyOf }) => copyOf !== undefined).map(({ revisionId }) => revisionId),
    ...works.flatMap((work) => named(work.activities, 'awaitDeployed')).map(revisionOf),
    ...works.flatMap((work) => named(work.activities, 'confirmServing')).map(copyOrRevision),
    ...named(activities, 'awaitLateUpload').map(({ result }) => result?.['revisionId']),
  ];
}
