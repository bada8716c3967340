import { mkdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';

import { errorText } from '@slipway/contract/codedError';
import { withResourceDefaults } from '@slipway/contract/controlPlane/resourceSpec';
import type { Kysely, Selectable } from 'kysely';
import type { Logger } from 'pino';

import type { BuildResult } from '../builder/buildRevision.ts';
import { isDiskFull } from '../http/problem.ts';
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

/** Builds and deploys single revisions. */
export type RevisionWork = ReturnType<typeof createRevisionWork>;

export function createRevisionWork(options: {
  kysely: Kysely<Schema>;
  home: HomeLayout;
  logs: RevisionLogs;
  log: Logger;
  fleet: Fleet;
  sources: Sources;
  buildRevision: BuildRevision;
  startAgent: StartAgent;
  /** The environment of a revision's agent: its secrets and the platform's variables. */
  environmentOf: (revision: RevisionToWorkOn) => Promise<Record<string, string>>;
}) {
  const { kysely, home, logs, fleet, sources } = options;

  const load = ({ id }: RevisionIds): Promise<RevisionToWorkOn> =>
    selectRevisionsToWorkOn(kysely).where('revisions.id', '=', id).executeTakeFirstOrThrow();

  const record = async (ids: RevisionIds, change: Omit<RevisionChange, 'revisionId'>): Promise<boolean> => {
    await logs.flush();
    const status = await recordChange(kysely, { revisionId: ids.id, ...change });
    if (status === undefined) return false;
    options.log.info(
      { ...logFields(ids), status, reason: change.reason },
      'the status of a revision changed',
    );
    return true;
  };

  /** Stores the end of canceled work, depending on the revision's role in the deployment and the reason. */
  const recordCancellation = async (ids: RevisionIds, cancellation: WorkCancellation): Promise<void> => {
    const isRequestedAgain = Number((await load(ids)).requested) > ids.requested;
    const { kind, reason } = isRequestedAgain ? REQUESTED_AGAIN : cancellation;
    // A revision with a stored end is in progress again only if it was requested since: that request continues.
    if (kind !== 'interrupted') {
      await record(ids, { event: 'takenUpAgain', reason });
      return;
    }
    await logs.flush();
    const status = await recordEnd(kysely, ids.id, 'interrupted', reason);
    options.log.info({ ...logFields(ids), status, reason }, 'a revision was interrupted');
  };

  const runBuild = async (
    ids: RevisionIds,
    source: TreeSource,
    revision: RevisionToWorkOn,
    signal: AbortSignal,
  ): Promise<BuildResult> => {
    const workspace = home.build(revision.deployment_id, revision.id);
    const log = logs.sink(revision.id, 'build');
    try {
      return await withScratch(home, revision.id, async (scratch) => {
        const fetched = await source.fetch(revision, { scratch, log, signal });
        if (!fetched.ok) return fetched;
        await rm(workspace, { recursive: true, force: true });
        await mkdir(workspace, { recursive: true });
        return await options.buildRevision({
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
      options.log.error({ err: error, ...logFields(ids) }, 'the builder failed');
      return { ok: false, reason: 'The builder failed unexpectedly; see the log of the platform.' };
    }
  };

  const build = async (ids: RevisionIds, signal: AbortSignal): Promise<boolean> => {
    if (!(await record(ids, { event: 'buildStarted' }))) return false;
    const revision = await load(ids);
    const source = sources(revision.source);
    if (source.kind === 'image') {
      const set = { built_at: new Date() };
      return record(ids, { event: 'built', reason: 'An image needs no build.', set });
    }
    const result = signal.aborted ? BUILD_CANCELED : await runBuild(ids, source, revision, signal);
    if (signal.aborted) {
      await recordCancellation(ids, signal.reason as WorkCancellation);
      return false;
    }
    if (result.ok) {
      return record(ids, {
        event: 'built',
        set: {
          built_at: new Date(),
          agent_dir: relative(home.root, result.agentDir),
          agent_graph_config: result.graphConfigPath,
        },
      });
    }
    await rm(home.build(ids.deploymentId, ids.id), { recursive: true, force: true });
    await record(ids, { event: 'buildFailed', reason: result.reason });
    return false;
  };

  const agentSpecOf = async (revision: RevisionToWorkOn): Promise<AgentSpec | undefined> => {
    const { id: revisionId, deployment_id: deploymentId } = revision;
    const env = await options.environmentOf(revision);
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
        options.startAgent({
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
  };

  const deploy = async (ids: RevisionIds, signal: AbortSignal): Promise<void> => {
    if (signal.aborted) {
      await recordCancellation(ids, signal.reason as WorkCancellation);
      return;
    }
    const revision = await load(ids);
    const source = sources(revision.source);
    const spec = await agentSpecOf(revision);
    if (spec === undefined) {
      const reason = 'The build is no longer on the disk: it is built again.';
      await record(ids, { event: 'buildMissing', reason, set: { agent_dir: null } });
      return;
    }
    if (!(await record(ids, { event: 'deployStarted' }))) return;
    if (source.kind === 'image') {
      const reason = await source.deployBlocker(revision);
      if (reason !== undefined) {
        await record(ids, { event: 'deployFailed', reason });
        return;
      }
      for (const line of source.logNotes(revision)) logs.sink(ids.id, 'deploy')(line);
    }
    let agent;
    try {
      agent = await fleet.start(spec, signal);
    } catch (error) {
      if (isAborted(signal)) await recordCancellation(ids, signal.reason as WorkCancellation);
      else await record(ids, { event: 'deployFailed', reason: errorText(error) });
      return;
    }
    if (isAborted(signal)) {
      agent.kill();
      await recordCancellation(ids, signal.reason as WorkCancellation);
      return;
    }
    // From here on the signal cancels nothing: the switch is stored, or undone.
    const handover = fleet.handOver(spec, agent);
    try {
      await logs.flush();
      // An answer that is lost with its connection does not say whether the switch was stored: ask again.
      if (!(await retryDuringOutage(signal, () => commit(kysely, revision)))) {
        handover.undo();
        await recordCancellation(ids, REQUESTED_AGAIN);
        return;
      }
    } catch (error) {
      handover.undo();
      throw error;
    }
    options.log.info(logFields(ids), 'a revision is deployed');
    handover.finish();
  };

  /** If the platform itself fails, ends the revision as failed, unless only its database did not answer. */
  const endAsFailedOnError =
    <T>(work: (ids: RevisionIds, signal: AbortSignal) => Promise<T>, otherwise: T) =>
    async (ids: RevisionIds, signal: AbortSignal): Promise<T> => {
      try {
        return await work(ids, signal);
      } catch (error) {
        options.log.error({ err: error, ...logFields(ids) }, 'work on a revision failed');
        // A database that was away for a moment says nothing about the revision: the next pass resumes it.
        if (!isDatabaseUnavailable(error)) await endAsFailed(ids);
        return otherwise;
      }
    };

  const endAsFailed = async (ids: RevisionIds): Promise<void> => {
    const reason = 'The platform failed unexpectedly; see its log.';
    try {
      const ended = await record(ids, { event: 'buildFailed', reason });
      if (!ended) await record(ids, { event: 'deployFailed', reason });
    } catch (error) {
      // It keeps its status until the next pass resumes it.
      options.log.error({ err: error, ...logFields(ids) }, 'the failure could not be recorded');
    }
  };

  return {
    /**
     * Builds a revision that awaits its build. Never throws: every end is a status. True if it now awaits deployment.
     */
    build: endAsFailedOnError(build, false),
    /** Deploys a revision that awaits deployment. Never throws: every end is a status. */
    deploy: endAsFailedOnError(deploy, undefined),
    /** What the fleet needs to start a built revision's agent; undefined if the build is gone. */
    agentSpecOf,
  };
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
