import { isWaiting, type RevisionStatus } from './revisionStates.ts';

/** The facts about an unsettled revision that the plan needs. */
export interface PlannedRevision {
  readonly id: string;
  readonly deploymentId: string;
  readonly tenantId: string;
  readonly status: RevisionStatus;
  /** The order of the requests; a redeploy counts as a new request. */
  readonly requested: number;
  readonly requestedBy: 'create' | 'patch' | 'push' | 'redeploy';
  /** Whether it has a source to build or deploy. */
  readonly hasSource: boolean;
}

export interface RunningJob {
  readonly revisionId: string;
  readonly requested: number;
  readonly building: boolean;
  /** Aborted: the work on the revision is being stopped. */
  readonly signal: AbortSignal;
}

export type Action =
  /** CREATING to QUEUED. */
  | { readonly kind: 'queue'; readonly revision: PlannedRevision }
  /** QUEUED to AWAITING_BUILD: it is the newest. */
  | { readonly kind: 'admit'; readonly revision: PlannedRevision }
  /** Build and deploy it, or only deploy it if it is built. */
  | { readonly kind: 'run'; readonly revision: PlannedRevision; readonly building: boolean }
  /** A newer revision supersedes it. */
  | { readonly kind: 'skip'; readonly revision: PlannedRevision; readonly replacedBy: string }
  /** Stop the running job, because a redeploy waits. */
  | { readonly kind: 'interrupt'; readonly deploymentId: string; readonly replacedBy: string };

/**
 * Plans the next actions. The rules:
 * - One revision of a deployment at a time. Of the waiting ones, only the last requested is processed; the others are
 *   skipped, and all of them if the running one was requested again after them.
 * - A redeploy interrupts the running job. A redeploy usually replaces a bad revision, which a ten-minute build would
 *   keep active for that long.
 * - A revision without a source stays in AWAITING_BUILD and blocks nothing.
 * - `buildSlots` builds run at once over all deployments. Tenants take turns, so that one with many requests does not
 *   delay the others by more than the builds that run. Deploying needs no slot.
 *
 * `served`: the tenants whose builds have begun, the last one last.
 */
export function planWork(
  revisions: readonly PlannedRevision[],
  jobs: ReadonlyMap<string, RunningJob>,
  buildSlots: number,
  served: readonly string[],
): Action[] {
  const freeSlots = buildSlots - [...jobs.values()].filter((job) => job.building).length;
  const waiting = revisions.filter(
    ({ id, status, deploymentId }) => isWaiting(status) && jobs.get(deploymentId)?.revisionId !== id,
  );
  const newest = new Map<string, PlannedRevision>();
  for (const revision of [...revisions].sort((a, b) => a.requested - b.requested)) {
    // Delete first, so that the map is in the order of the newest requests.
    newest.delete(revision.deploymentId);
    newest.set(revision.deploymentId, revision);
  }
  const actions = waiting.flatMap((revision): Action[] => {
    const replacedBy = newest.get(revision.deploymentId)?.id ?? revision.id;
    return replacedBy === revision.id ? [] : [{ kind: 'skip', revision, replacedBy }];
  });
  const toBuild: PlannedRevision[] = [];
  for (const revision of newest.values()) {
    const job = jobs.get(revision.deploymentId);
    if (job?.revisionId === revision.id) continue;
    if (revision.status === 'CREATING') {
      actions.push({ kind: 'queue', revision });
    } else if (job !== undefined) {
      const isRedeployAfter = revision.requestedBy === 'redeploy' && revision.requested > job.requested;
      if (isRedeployAfter && !job.signal.aborted) {
        actions.push({ kind: 'interrupt', deploymentId: revision.deploymentId, replacedBy: revision.id });
      }
    } else if (revision.status === 'QUEUED') {
      actions.push({ kind: 'admit', revision });
    } else if (revision.status === 'AWAITING_DEPLOY') {
      actions.push({ kind: 'run', revision, building: false });
    } else if (revision.hasSource) {
      toBuild.push(revision);
    }
  }
  for (const revision of nextBuilds(toBuild, freeSlots, served))
    actions.push({ kind: 'run', revision, building: true });
  return actions;
}

/** Of each tenant the earliest request first. Tenants take turns: first those whose last build began longest ago. */
function nextBuilds(
  waiting: readonly PlannedRevision[],
  count: number,
  served: readonly string[],
): PlannedRevision[] {
  const turns = [...served];
  const left = [...waiting];
  const next: PlannedRevision[] = [];
  const lastTurn = ({ tenantId }: PlannedRevision) => turns.lastIndexOf(tenantId);
  while (next.length < count && left.length > 0) {
    const chosen = left.reduce((best, each) => (lastTurn(each) < lastTurn(best) ? each : best));
    left.splice(left.indexOf(chosen), 1);
    next.push(chosen);
    turns.push(chosen.tenantId);
  }
  return next;
}
