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

export interface OrchestratorOptions {
  readonly kysely: Kysely<Schema>;
  readonly log: Logger;
  readonly work: RevisionWork;
  readonly fleet: Fleet;
  readonly sources: Sources;
  /** How many builds run at once, over all deployments. */
  readonly buildSlots: number;
  /** Called after work on a revision, whatever its result, to free disk space. Failures are logged. */
  readonly afterWork: (deploymentId: string) => Promise<void>;
  /** Removes the remaining data of a deleted deployment, once none of its work runs. */
  readonly removeDeployment: (deploymentId: string) => Promise<void>;
}

/** Processes revisions from `start` on: reads the stored state, plans and acts whenever something has changed. */
export class Orchestrator {
  readonly #options: OrchestratorOptions;
  /** By the deployment's id. */
  readonly #jobs = new Map<string, Job>();
  readonly #removals = new Map<string, Promise<void>>();
  /** The tenants whose builds have begun, the last one last. */
  readonly #served = new Set<string>();
  readonly #stopping = new AbortController();
  #currentPasses: Promise<void> | undefined;
  #isPassNeeded = false;
  #isStarted = false;
  #queued = 0;

  constructor(options: OrchestratorOptions) {
    this.#options = options;
  }

  /** How many revisions wait for their build. */
  get queued(): number {
    return this.#queued;
  }

  /** Resumes an earlier process's unfinished work, and begins. */
  async start(): Promise<void> {
    const unfinished = this.#options.kysely
      .selectFrom('revisions')
      .select('id')
      .where('status', 'in', UNSETTLED_STATUSES.filter(isInProgress));
    const ids = (await unfinished.execute()).map(({ id }) => id);
    await this.#resumeUnfinished(ids, 'The platform was restarted.');
    this.#isStarted = true;
    this.requestPass();
  }

  /** Call it after storing something that may need work. Before `start`, nothing begins: the platform listens already. */
  requestPass(): void {
    this.#isPassNeeded = true;
    if (!this.#isStarted || this.#stopping.signal.aborted) return;
    this.#currentPasses ??= this.#runPasses().finally(() => {
      this.#currentPasses = undefined;
      if (this.#isPassNeeded) this.requestPass();
    });
  }

  /** Ends the work on a revision whose interruption is already stored. No effect if no work runs for it. */
  interrupt(revisionId: string): void {
    [...this.#jobs.values()].find((job) => job.revisionId === revisionId)?.cancel(REQUESTED_AGAIN);
  }

  /** Stops all work; the next start resumes it. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#currentPasses;
    const cancellation: WorkCancellation = { kind: 'stopping', reason: 'The platform was stopped.' };
    for (const job of this.#jobs.values()) job.cancel(cancellation);
    await Promise.all([...this.#jobs.values()].map((job) => job.done));
    await Promise.all(this.#removals.values());
  }

  async #runPasses(): Promise<void> {
    while (this.#isPassNeeded && !this.#stopping.signal.aborted) {
      this.#isPassNeeded = false;
      try {
        await this.#runPass();
      } catch (error) {
        const { log } = this.#options;
        log.error({ err: error }, 'the work on revisions could not be planned; it is tried again');
        this.#isPassNeeded = true;
        await pause(RETRY_AFTER_MS, this.#stopping.signal);
      }
    }
  }

  async #runPass(): Promise<void> {
    const { kysely, sources, buildSlots } = this.#options;
    const deleted = kysely.selectFrom('deployments').select('id').where('status', '=', 'AWAITING_DELETE');
    for (const { id } of await deleted.execute()) this.#remove(id);
    const revisions = await unsettledRevisions(kysely, sources);
    const isWorkedOn = ({ id, deploymentId }: PlannedRevision): boolean =>
      this.#jobs.get(deploymentId)?.revisionId === id;
    const abandoned = revisions.filter((revision) => isInProgress(revision.status) && !isWorkedOn(revision));
    if (abandoned.length > 0) {
      // The database was away when their work ended, and so was what recorded the end.
      await this.#resumeUnfinished(
        abandoned.map(({ id }) => id),
        'The database did not answer.',
      );
      this.#isPassNeeded = true;
      return;
    }
    for (const action of planWork(revisions, this.#jobs, buildSlots, [...this.#served])) {
      if (this.#stopping.signal.aborted) return;
      await this.#act(action);
    }
    this.#queued = revisions.filter(
      (revision) => revision.status === 'AWAITING_BUILD' && revision.hasSource && !isWorkedOn(revision),
    ).length;
  }

  async #act(action: Action): Promise<void> {
    const { kysely } = this.#options;
    switch (action.kind) {
      case 'queue':
        await recordChange(kysely, { revisionId: action.revision.id, event: 'created' });
        this.#isPassNeeded = true;
        return;
      case 'admit': {
        const { id: revisionId, hasSource } = action.revision;
        const reason = hasSource ? undefined : 'It has no source yet.';
        await recordChange(kysely, { revisionId, event: 'admitted', reason });
        this.#isPassNeeded = true;
        return;
      }
      case 'skip': {
        const reason = `Revision ID ${action.replacedBy} took its place.`;
        await recordEnd(kysely, action.revision.id, 'superseded', reason);
        return;
      }
      case 'interrupt':
        this.#cancelJob(action.deploymentId, `Revision ID ${action.replacedBy} was redeployed.`);
        return;
      case 'run':
        this.#run(action.revision, action.building);
    }
  }

  #cancelJob(deploymentId: string, reason: string): void {
    this.#jobs.get(deploymentId)?.cancel({ kind: 'interrupted', reason });
  }

  #run(revision: PlannedRevision, building: boolean): void {
    const controller = new AbortController();
    const job: Job = {
      revisionId: revision.id,
      requested: revision.requested,
      building,
      signal: controller.signal,
      cancel: (cancellation) => controller.abort(cancellation),
      done: Promise.resolve(),
    };
    job.done = this.#buildAndDeploy(revision, job).finally(() => {
      this.#jobs.delete(revision.deploymentId);
      this.requestPass();
    });
    this.#jobs.set(revision.deploymentId, job);
    if (!building) return;
    this.#served.delete(revision.tenantId);
    this.#served.add(revision.tenantId);
  }

  async #buildAndDeploy(revision: PlannedRevision, job: Job): Promise<void> {
    const { work, log, afterWork } = this.#options;
    if (!job.building || (await work.build(revision, job.signal))) {
      // A built revision is deployed before a newer one that waits.
      job.building = false;
      this.requestPass();
      await work.deploy(revision, job.signal);
    }
    await afterWork(revision.deploymentId).catch((error: unknown) => {
      const of = { err: error, deployment: revision.deploymentId };
      log.warn(of, 'old builds and sources could not be removed');
    });
  }

  #remove(deploymentId: string): void {
    if (this.#removals.has(deploymentId)) return;
    this.#cancelJob(deploymentId, 'The deployment was deleted.');
    const removal = this.#removeWhenIdle(deploymentId).finally(() => {
      this.#removals.delete(deploymentId);
      this.requestPass();
    });
    this.#removals.set(deploymentId, removal);
  }

  async #removeWhenIdle(deployment: string): Promise<void> {
    const { fleet, log, removeDeployment } = this.#options;
    try {
      await this.#jobs.get(deployment)?.done;
      await fleet.remove(deployment);
      await removeDeployment(deployment);
      log.info({ deployment }, 'a deployment was removed');
    } catch (error) {
      log.error({ err: error, deployment }, 'a deployment was not removed; it is tried again');
      await pause(RETRY_AFTER_MS, this.#stopping.signal);
    }
  }

  /** Returns unfinished revisions that nothing works on to their last durable step, up to {@link RESTARTS_MAX} times. */
  async #resumeUnfinished(ids: readonly string[], reason: string): Promise<void> {
    if (ids.length === 0) return;
    const { kysely, log } = this.#options;
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
