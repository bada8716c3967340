import { isWaiting, type RevisionStatus } from './revisionStates.ts';

/** What the plan has to know of a revision that is not settled. */
export interface PlannedRevision {
  readonly id: string;
  readonly deploymentId: string;
  readonly status: RevisionStatus;
  /** The order in which revisions were asked for; a redeploy asks again. */
  readonly requested: number;
  readonly requestedBy: 'create' | 'patch' | 'push' | 'redeploy';
  /** Whether there is anything to build or deploy it from yet. */
  readonly hasSource: boolean;
}

/** What runs for a deployment right now. */
export interface RunningJob {
  readonly revisionId: string;
  readonly requested: number;
  readonly building: boolean;
  readonly interrupted: boolean;
}

/** One thing to do. */
export type Action =
  /** CREATING to QUEUED. */
  | { readonly kind: 'queue'; readonly revision: PlannedRevision }
  /** QUEUED to AWAITING_BUILD: it is this one's turn. */
  | { readonly kind: 'admit'; readonly revision: PlannedRevision }
  /** Build and deploy it, or deploy it where it is built already. */
  | { readonly kind: 'run'; readonly revision: PlannedRevision; readonly building: boolean }
  /** A newer one takes its place. */
  | { readonly kind: 'skip'; readonly revision: PlannedRevision; readonly by: string }
  /** Stop what runs, because a redeploy waits. */
  | { readonly kind: 'interrupt'; readonly deploymentId: string; readonly by: string };

/**
 * What is to be done now. The rules:
 * - One revision of a deployment at a time; of those that wait only the one asked for last, the others are skipped.
 * - A redeploy does not wait for what runs: it interrupts it. Whoever goes back to an earlier revision wants out of
 *   the present one, and a build that takes ten minutes would keep the deployment bad for as long.
 * - A revision without a source waits in AWAITING_BUILD, and nothing waits for it.
 * - `buildSlots` builds at once over all deployments, in the order of the requests. Deploying takes no slot.
 */
export function planWork(
  revisions: readonly PlannedRevision[],
  jobs: ReadonlyMap<string, RunningJob>,
  buildSlots: number,
): Action[] {
  let freeSlots = buildSlots - [...jobs.values()].filter((job) => job.building).length;
  const waiting = revisions.filter(
    ({ id, status, deploymentId }) => isWaiting(status) && jobs.get(deploymentId)?.revisionId !== id,
  );
  const newest = new Map<string, PlannedRevision>();
  for (const revision of [...waiting].sort((a, b) => a.requested - b.requested)) {
    // Away first: the map is in the order in which the newest ones were asked for.
    newest.delete(revision.deploymentId);
    newest.set(revision.deploymentId, revision);
  }
  const actions = waiting.flatMap((revision): Action[] => {
    const by = newest.get(revision.deploymentId)?.id ?? revision.id;
    return by === revision.id ? [] : [{ kind: 'skip', revision, by }];
  });
  for (const revision of newest.values()) {
    const job = jobs.get(revision.deploymentId);
    if (revision.status === 'CREATING') {
      actions.push({ kind: 'queue', revision });
    } else if (job !== undefined) {
      const overtakes = revision.requestedBy === 'redeploy' && revision.requested > job.requested;
      if (overtakes && !job.interrupted) {
        actions.push({ kind: 'interrupt', deploymentId: revision.deploymentId, by: revision.id });
      }
    } else if (revision.status === 'QUEUED') {
      actions.push({ kind: 'admit', revision });
    } else if (revision.status === 'AWAITING_DEPLOY') {
      actions.push({ kind: 'run', revision, building: false });
    } else if (revision.hasSource && freeSlots > 0) {
      freeSlots -= 1;
      actions.push({ kind: 'run', revision, building: true });
    }
  }
  return actions;
}
