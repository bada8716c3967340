import type { ActivityFact, WorkFact } from './facts.ts';
import type { Rule } from './violation.ts';

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
export function seenBeforePatch({ known, activities }: WorkFact): {
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
export function latestIn(result: ActivityFact['result']): string | null | undefined {
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
