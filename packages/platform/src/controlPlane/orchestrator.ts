import type { Kysely } from 'kysely';
import type { Logger } from 'pino';

import { pause } from '../pause.ts';
import type { Schema } from '../store/schema.ts';
import type { Fleet } from './fleet.ts';
import { type Action, type PlannedRevision, planWork, type RunningJob } from './plan.ts';
import { recordChange, recordEnd } from './revisionLedger.ts';
import { isInProgress, UNSETTLED_STATUSES } from './revisionStates.ts';
import { REQUESTED_AGAIN, type RevisionWork, type WorkCancellation } from './revisionWork.ts';
import type { Sources } from './sources/sources.ts';

/** How often one revision may be found unfinished before it fails. */
export const RESTARTS_MAX = 3;

interface Job extends RunningJob {
  building: boolean;
  readonly cancel: (cancellation: WorkCancellation) => void;
  done: Promise<void>;
}

const RETRY_AFTER_MS = 1_000;

/** Processes revisions from `start` on: reads the stored state, plans and acts whenever something has changed. */
export function createOrchestrator(options: {
  kysely: Kysely<Schema>;
  log: Logger;
  work: RevisionWork;
  fleet: Fleet;
  sources: Sources;
  /** How many builds run at once, over all deployments. */
  buildSlots: number;
  /** Called after work on a revision, whatever its result, to free disk space. Failures are logged. */
  afterWork: (deploymentId: string) => Promise<void>;
  /** Removes the remaining data of a deleted deployment, once none of its work runs. */
  removeDeployment: (deploymentId: string) => Promise<void>;
}) {
  const { kysely, log, work, fleet } = options;
  const jobs = new Map<string, Job>();
  const removals = new Map<string, Promise<void>>();
  /** The tenants whose builds have begun, the last one last. */
  const served = new Set<string>();
  const stopping = new AbortController();
  let currentPasses: Promise<void> | undefined;
  let isPassNeeded = false;
  let isStarted = false;
  let queued = 0;

  const requestPass = (): void => {
    isPassNeeded = true;
    if (!isStarted || stopping.signal.aborted) return;
    currentPasses ??= runPasses().finally(() => {
      currentPasses = undefined;
      if (isPassNeeded && !stopping.signal.aborted) requestPass();
    });
  };

  const runPasses = async (): Promise<void> => {
    while (isPassNeeded && !stopping.signal.aborted) {
      isPassNeeded = false;
      try {
        await runPass();
      } catch (error) {
        log.error({ err: error }, 'the work on revisions could not be planned; it is tried again');
        isPassNeeded = true;
        await pause(RETRY_AFTER_MS, stopping.signal);
      }
    }
  };

  const runPass = async (): Promise<void> => {
    const deleted = kysely.selectFrom('deployments').select('id').where('status', '=', 'AWAITING_DELETE');
    for (const { id } of await deleted.execute()) remove(id);
    const revisions = await unsettledRevisions(kysely, options.sources);
    const abandoned = revisions.filter(
      ({ id, status, deploymentId }) => isInProgress(status) && jobs.get(deploymentId)?.revisionId !== id,
    );
    if (abandoned.length > 0) {
      // The database was away when their work ended, and so was what recorded the end.
      await resumeUnfinished(
        kysely,
        log,
        abandoned.map(({ id }) => id),
        'The database did not answer.',
      );
      isPassNeeded = true;
      return;
    }
    for (const action of planWork(revisions, jobs, options.buildSlots, [...served])) {
      if (stopping.signal.aborted) return;
      await executeAction(action);
    }
    queued = revisions.filter(
      ({ id, deploymentId, status, hasSource }) =>
        status === 'AWAITING_BUILD' && hasSource && jobs.get(deploymentId)?.revisionId !== id,
    ).length;
  };

  const executeAction = async (action: Action): Promise<void> => {
    switch (action.kind) {
      case 'queue':
        await recordChange(kysely, { revisionId: action.revision.id, event: 'created' });
        isPassNeeded = true;
        return;
      case 'admit': {
        const { id: revisionId, hasSource } = action.revision;
        const reason = hasSource ? undefined : 'It has no source yet.';
        await recordChange(kysely, { revisionId, event: 'admitted', reason });
        isPassNeeded = true;
        return;
      }
      case 'skip':
        await recordEnd(
          kysely,
          action.revision.id,
          'superseded',
          `Revision ID ${action.replacedBy} took its place.`,
        );
        return;
      case 'interrupt':
        interruptJob(action.deploymentId, `Revision ID ${action.replacedBy} was redeployed.`);
        return;
      case 'run':
        run(action.revision, action.building);
    }
  };

  const interruptJob = (deploymentId: string, reason: string): void => {
    jobs.get(deploymentId)?.cancel({ kind: 'interrupted', reason });
  };

  const run = (revision: PlannedRevision, building: boolean): void => {
    const controller = new AbortController();
    const { signal } = controller;
    const job: Job = {
      revisionId: revision.id,
      requested: revision.requested,
      building,
      signal,
      cancel: (cancellation) => controller.abort(cancellation),
      done: Promise.resolve(),
    };
    const buildAndDeploy = async (): Promise<void> => {
      if (!building || (await work.build(revision, signal))) {
        // A built revision is deployed before a newer one that waits.
        job.building = false;
        requestPass();
        await work.deploy(revision, signal);
      }
      await options.afterWork(revision.deploymentId).catch((error: unknown) => {
        const of = { err: error, deployment: revision.deploymentId };
        log.warn(of, 'old builds and sources could not be removed');
      });
    };
    job.done = buildAndDeploy().finally(() => {
      jobs.delete(revision.deploymentId);
      requestPass();
    });
    jobs.set(revision.deploymentId, job);
    if (!building) return;
    served.delete(revision.tenantId);
    served.add(revision.tenantId);
  };

  const remove = (deploymentId: string): void => {
    if (removals.has(deploymentId)) return;
    interruptJob(deploymentId, 'The deployment was deleted.');
    const removal = (async () => {
      await jobs.get(deploymentId)?.done;
      await fleet.remove(deploymentId);
      await options.removeDeployment(deploymentId);
      log.info({ deployment: deploymentId }, 'a deployment was removed');
    })()
      .catch(async (error: unknown) => {
        log.error(
          { err: error, deployment: deploymentId },
          'a deployment was not removed; it is tried again',
        );
        await pause(RETRY_AFTER_MS, stopping.signal);
      })
      .finally(() => {
        removals.delete(deploymentId);
        requestPass();
      });
    removals.set(deploymentId, removal);
  };

  return {
    /** Resumes an earlier process's unfinished work, and begins. */
    start: async (): Promise<void> => {
      const unfinished = kysely
        .selectFrom('revisions')
        .select('id')
        .where('status', 'in', UNSETTLED_STATUSES.filter(isInProgress));
      const ids = (await unfinished.execute()).map(({ id }) => id);
      await resumeUnfinished(kysely, log, ids, 'The platform was restarted.');
      isStarted = true;
      requestPass();
    },
    /** Call it after storing something that may need work. Before `start`, nothing begins: the platform listens already. */
    requestPass,
    queued: (): number => queued,
    /** Ends the work on a revision whose interruption is already stored. No effect if no work runs for it. */
    interrupt: (revisionId: string): void => {
      [...jobs.values()].find((job) => job.revisionId === revisionId)?.cancel(REQUESTED_AGAIN);
    },
    /** Stops all work; the next start resumes it. */
    close: async (): Promise<void> => {
      stopping.abort();
      await currentPasses;
      const cancellation: WorkCancellation = { kind: 'stopping', reason: 'The platform was stopped.' };
      for (const job of jobs.values()) job.cancel(cancellation);
      await Promise.all([...jobs.values()].map((job) => job.done));
      await Promise.all(removals.values());
    },
  };
}

/** Returns unfinished revisions that nothing works on to their last durable step, up to {@link RESTARTS_MAX} times. */
async function resumeUnfinished(
  kysely: Kysely<Schema>,
  log: Logger,
  ids: readonly string[],
  reason: string,
): Promise<void> {
  if (ids.length === 0) return;
  const unfinished = await kysely
    .selectFrom('revisions')
    .select(['id', 'restarts', 'deployment_id'])
    .where('id', 'in', ids)
    .execute();
  for (const { id: revisionId, restarts, deployment_id: deployment } of unfinished) {
    const why = `The platform was stopped ${RESTARTS_MAX + 1} times in the middle of this revision.`;
    const status =
      restarts < RESTARTS_MAX
        ? await recordChange(kysely, {
            revisionId,
            event: 'takenUpAgain',
            reason,
            set: { restarts: restarts + 1 },
          })
        : await recordEnd(kysely, revisionId, 'interrupted', why);
    log.info({ revision: revisionId, deployment, status }, 'an unfinished revision was found');
  }
}

/** The unsettled revisions of deployments that are not being deleted. */
async function unsettledRevisions(kysely: Kysely<Schema>, sources: Sources): Promise<PlannedRevision[]> {
  const rows = await kysely
    .selectFrom('revisions')
    .innerJoin('deployments', 'deployments.id', 'revisions.deployment_id')
    .select([
      'revisions.id',
      'revisions.deployment_id',
      'deployments.tenant_id',
      'revisions.status',
      'revisions.requested',
      'revisions.requested_by',
      'revisions.source',
      'revisions.source_config',
      'revisions.source_revision_config',
    ])
    .where('revisions.status', 'in', UNSETTLED_STATUSES)
    .where('deployments.status', '!=', 'AWAITING_DELETE')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    deploymentId: row.deployment_id,
    tenantId: row.tenant_id,
    status: row.status,
    requested: Number(row.requested),
    requestedBy: row.requested_by,
    hasSource: sources(row.source).hasSource(row),
  }));
}
