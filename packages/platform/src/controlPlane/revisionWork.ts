import { mkdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';

import { errorText } from '@slipway/contract/codedError';
import { withResourceDefaults } from '@slipway/contract/controlPlane/resourceSpec';
import type { Kysely, Selectable } from 'kysely';
import type { Logger } from 'pino';

import type { BuildResult } from '../builder/buildRevision.ts';
import { isDiskFull } from '../http/problem.ts';
import type { RunningAgent } from '../runtime/agentStart.ts';
import { isDatabaseUnavailable, retryDuringOutage } from '../store/databaseOutage.ts';
import type { RevisionsTable, Schema } from '../store/schema.ts';
import { type RevisionToWorkOn, selectRevisionsToWorkOn } from './deploymentRows.ts';
import { type AgentSpec, type Fleet, isAborted } from './fleet.ts';
import { type HomeLayout, pathExists, withScratch } from './homeLayout.ts';
import { recordChange, recordEnd, type RevisionChange } from './revisionLedger.ts';
import type { RevisionLogs } from './revisionLogs.ts';
import type { BuildRevision, StartAgent } from './dependencies.ts';
import type { TreeSource } from './sources/source.ts';
import type { Sources } from './sources/sources.ts';

/** Why work on a revision was canceled; the reason of its abort signal. */
export interface WorkCancellation {
  /**
   * `interrupted`: another revision goes first. `recorded`: it was interrupted on request, and its end is stored
   * already.
   * `stopping`: the platform stops, and resumes it at the next start.
   */
  readonly kind: 'interrupted' | 'recorded' | 'stopping';
  readonly reason: string;
}

/** The cancellation of work whose interruption was requested and is stored. */
export const REQUESTED_AGAIN: WorkCancellation = { kind: 'recorded', reason: 'It was requested again.' };
const BUILD_CANCELED: BuildResult = { ok: false, reason: 'The build was canceled.' };

interface RevisionIds {
  readonly id: string;
  readonly deploymentId: string;
  /** The order of the request that the work is for. */
  readonly requested: number;
}

export interface RevisionWorkOptions {
  readonly kysely: Kysely<Schema>;
  readonly home: HomeLayout;
  readonly logs: RevisionLogs;
  readonly log: Logger;
  readonly fleet: Fleet;
  readonly sources: Sources;
  readonly buildRevision: BuildRevision;
  readonly startAgent: StartAgent;
  /** The environment of a revision's agent: its secrets and the platform's variables. */
  readonly environmentOf: (revision: RevisionToWorkOn) => Promise<Record<string, string>>;
}

/** Builds and deploys single revisions. */
export class RevisionWork {
  readonly #options: RevisionWorkOptions;

  constructor(options: RevisionWorkOptions) {
    this.#options = options;
  }

  /** Builds a revision that awaits its build. Never throws: every end is a status. True if it now awaits deployment. */
  async build(ids: RevisionIds, signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#build(ids, signal);
    } catch (error) {
      await this.#endAsFailed(ids, error);
      return false;
    }
  }

  /** Deploys a revision that awaits deployment. Never throws: every end is a status. */
  async deploy(ids: RevisionIds, signal: AbortSignal): Promise<void> {
    try {
      await this.#deploy(ids, signal);
    } catch (error) {
      await this.#endAsFailed(ids, error);
    }
  }

  /** What the fleet needs to start a built revision's agent; undefined if the build is gone. */
  async agentSpecOf(revision: RevisionToWorkOn): Promise<AgentSpec | undefined> {
    const { home, logs, sources, environmentOf, startAgent } = this.#options;
    const { id: revisionId, deployment_id: deploymentId } = revision;
    const env = await environmentOf(revision);
    const drainMs = drainSettingOf(env);
    const log = logs.sink(revisionId, 'deploy');
    const spec = { deploymentId, revisionId, drainMs };
    const source = sources(revision.source);
    if (source.kind === 'image') {
      return { ...spec, start: (limits) => source.start(revision, { env, log, ...limits }) };
    }
    if (revision.agent_dir === null) return undefined;
    const agentDir = join(home.root, revision.agent_dir);
    if (!(await pathExists(agentDir))) return undefined;
    const graphConfigPath = revision.agent_graph_config ?? 'graph.json';
    return {
      ...spec,
      start: (limits) =>
        startAgent({
          deploymentId,
          revisionId,
          workspace: home.build(deploymentId, revisionId),
          resources: withResourceDefaults(revision.source_config['resource_spec'] ?? {}),
          agentDir,
          graphConfigPath,
          env,
          log,
          ...limits,
        }),
    };
  }

  async #build(ids: RevisionIds, signal: AbortSignal): Promise<boolean> {
    const { home, sources } = this.#options;
    if (!(await this.#record(ids, { event: 'buildStarted' }))) return false;
    const revision = await this.#load(ids);
    const source = sources(revision.source);
    if (source.kind === 'image') {
      const set = { built_at: new Date() };
      return this.#record(ids, { event: 'built', reason: 'An image needs no build.', set });
    }
    const result = signal.aborted ? BUILD_CANCELED : await this.#runBuild(ids, source, revision, signal);
    if (signal.aborted) {
      await this.#recordCancellation(ids, signal.reason as WorkCancellation);
      return false;
    }
    if (result.ok) {
      return this.#record(ids, {
        event: 'built',
        set: {
          built_at: new Date(),
          agent_dir: relative(home.root, result.agentDir),
          agent_graph_config: result.graphConfigPath,
        },
      });
    }
    await rm(home.build(ids.deploymentId, ids.id), { recursive: true, force: true });
    await this.#record(ids, { event: 'buildFailed', reason: result.reason });
    return false;
  }

  async #runBuild(
    ids: RevisionIds,
    source: TreeSource,
    revision: RevisionToWorkOn,
    signal: AbortSignal,
  ): Promise<BuildResult> {
    const { home, logs, buildRevision, log: platformLog } = this.#options;
    const workspace = home.build(revision.deployment_id, revision.id);
    const log = logs.sink(revision.id, 'build');
    try {
      return await withScratch(home, revision.id, async (scratch) => {
        const fetched = await source.fetch(revision, { scratch, log, signal });
        if (!fetched.ok) return fetched;
        await rm(workspace, { recursive: true, force: true });
        await mkdir(workspace, { recursive: true });
        return await buildRevision({
          deploymentId: revision.deployment_id,
          revisionId: revision.id,
          tarball: fetched.tarball,
          workspace,
          graphConfigPath: textOrNull(revision.source_revision_config['graph_config_path']) ?? 'graph.json',
          installCommand: textOrNull(revision.source_config['install_command']),
          buildCommand: textOrNull(revision.source_config['build_command']),
          scratch: join(scratch, 'build'),
          cacheDir: home.cacheOf(revision.tenant_id),
          log,
          signal,
        });
      });
    } catch (error) {
      if (signal.aborted) return BUILD_CANCELED;
      if (isDatabaseUnavailable(error)) throw error;
      if (isDiskFull(error)) return { ok: false, reason: 'The disk of this platform is full.' };
      platformLog.error({ err: error, ...logFields(ids) }, 'the builder failed');
      return { ok: false, reason: 'The builder failed unexpectedly; see the log of the platform.' };
    }
  }

  async #deploy(ids: RevisionIds, signal: AbortSignal): Promise<void> {
    const { kysely, logs, log, fleet, sources } = this.#options;
    if (signal.aborted) {
      await this.#recordCancellation(ids, signal.reason as WorkCancellation);
      return;
    }
    const revision = await this.#load(ids);
    const source = sources(revision.source);
    const spec = await this.agentSpecOf(revision);
    if (spec === undefined) {
      const reason = 'The build is no longer on the disk: it is built again.';
      await this.#record(ids, { event: 'buildMissing', reason, set: { agent_dir: null } });
      return;
    }
    if (!(await this.#record(ids, { event: 'deployStarted' }))) return;
    if (source.kind === 'image') {
      const reason = await source.deployBlocker(revision);
      if (reason !== undefined) {
        await this.#record(ids, { event: 'deployFailed', reason });
        return;
      }
      for (const line of source.logNotes(revision)) logs.sink(ids.id, 'deploy')(line);
    }
    let agent: RunningAgent;
    try {
      agent = await fleet.start(spec, signal);
    } catch (error) {
      if (isAborted(signal)) await this.#recordCancellation(ids, signal.reason as WorkCancellation);
      else await this.#record(ids, { event: 'deployFailed', reason: errorText(error) });
      return;
    }
    if (isAborted(signal)) {
      agent.kill();
      await this.#recordCancellation(ids, signal.reason as WorkCancellation);
      return;
    }
    // From here on the signal cancels nothing: the switch is stored, or undone.
    const handover = fleet.handOver(spec, agent);
    try {
      await logs.flush();
      // An answer that is lost with its connection does not say whether the switch was stored: ask again.
      if (!(await retryDuringOutage(signal, () => commit(kysely, revision)))) {
        handover.undo();
        await this.#recordCancellation(ids, REQUESTED_AGAIN);
        return;
      }
    } catch (error) {
      handover.undo();
      throw error;
    }
    log.info(logFields(ids), 'a revision is deployed');
    handover.finish();
  }

  /** After a failure of the platform itself, ends the revision as failed, unless only its database did not answer. */
  async #endAsFailed(ids: RevisionIds, error: unknown): Promise<void> {
    const { log } = this.#options;
    log.error({ err: error, ...logFields(ids) }, 'work on a revision failed');
    // A database that was away for a moment says nothing about the revision: the next pass resumes it.
    if (isDatabaseUnavailable(error)) return;
    const reason = 'The platform failed unexpectedly; see its log.';
    try {
      const ended = await this.#record(ids, { event: 'buildFailed', reason });
      if (!ended) await this.#record(ids, { event: 'deployFailed', reason });
    } catch (cause) {
      // It keeps its status until the next pass resumes it.
      log.error({ err: cause, ...logFields(ids) }, 'the failure could not be recorded');
    }
  }

  async #record(ids: RevisionIds, change: Omit<RevisionChange, 'revisionId'>): Promise<boolean> {
    const { kysely, logs, log } = this.#options;
    await logs.flush();
    const status = await recordChange(kysely, { revisionId: ids.id, ...change });
    if (status === undefined) return false;
    log.info({ ...logFields(ids), status, reason: change.reason }, 'the status of a revision changed');
    return true;
  }

  /** Stores the end of canceled work, depending on the revision's role in the deployment and the reason. */
  async #recordCancellation(ids: RevisionIds, cancellation: WorkCancellation): Promise<void> {
    const { kysely, logs, log } = this.#options;
    const isRequestedAgain = Number((await this.#load(ids)).requested) > ids.requested;
    const { kind, reason } = isRequestedAgain ? REQUESTED_AGAIN : cancellation;
    // A revision with a stored end is in progress again only if it was requested since: that request continues.
    if (kind !== 'interrupted') {
      await this.#record(ids, { event: 'takenUpAgain', reason });
      return;
    }
    await logs.flush();
    const status = await recordEnd(kysely, ids.id, 'interrupted', reason);
    log.info({ ...logFields(ids), status, reason }, 'a revision was interrupted');
  }

  #load({ id }: RevisionIds): Promise<RevisionToWorkOn> {
    return selectRevisionsToWorkOn(this.#options.kysely)
      .where('revisions.id', '=', id)
      .executeTakeFirstOrThrow();
  }
}

/** Makes the revision, to which the gateway has switched, the active one. False: it was interrupted before. */
async function commit(kysely: Kysely<Schema>, revision: Selectable<RevisionsTable>): Promise<boolean> {
  const at = new Date();
  return kysely.transaction().execute(async (trx) => {
    // The deployment first: every request locks it first.
    const deployment = await trx
      .selectFrom('deployments')
      .select('active_revision_id')
      .where('id', '=', revision.deployment_id)
      .forUpdate()
      .executeTakeFirst();
    const status = await recordChange(trx, {
      revisionId: revision.id,
      event: 'deployed',
      set: { deployed_at: at, restarts: 0 },
    });
    if (status === undefined) return deployment?.active_revision_id === revision.id;
    await trx
      .updateTable('deployments')
      .set({ active_revision_id: revision.id, updated_at: at })
      .where('id', '=', revision.deployment_id)
      .execute();
    return true;
  });
}

function logFields({ id, deploymentId }: RevisionIds): { revision: string; deployment: string } {
  return { revision: id, deployment: deploymentId };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** The deployment's own setting. If it is not a number, the agent fails to start with an error. */
function drainSettingOf(env: Readonly<Record<string, string>>): number | undefined {
  const given = Number(env['SLIPWAY_AGENT_DRAIN_MS'] ?? NaN);
  return Number.isFinite(given) && given >= 0 ? given : undefined;
}
