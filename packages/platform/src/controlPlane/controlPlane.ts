import { rm } from 'node:fs/promises';

import { Hono } from 'hono';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';

import type { Access } from '../access/access.ts';
import { removeOldAudit } from '../access/audit.ts';
import { removeAgentData } from '../agentServer/store/agentData.ts';
import { DRAIN_MS } from '../runtime/agentStart.ts';
import type { Containers } from '../runtime/docker/containers.ts';
import type { AgentStorage } from '../store/agentStorage.ts';
import type { Schema } from '../store/schema.ts';
import type { RotatingSealing } from '../store/sealing.ts';
import { removeExpiredLinks } from '../tracing/tracingStore.ts';
import type { BuildRevision, Isolation, StartAgent, GatewaySwitch } from './dependencies.ts';
import { createStoredSecrets, selectRevisionsToWorkOn } from './deploymentRows.ts';
import { createDeployments } from './deployments.ts';
import { Fleet } from './fleet.ts';
import { emptyTrash, homeLayout, removeTree } from './homeLayout.ts';
import { createIdempotency } from './idempotency.ts';
import { createIntegrations } from './integrations.ts';
import { createListeners } from './listeners.ts';
import { LogFollowing } from './logFollowing.ts';
import { Orchestrator } from './orchestrator.ts';
import { BranchPoller, POLL_INTERVAL_MS } from './pushes/branchPoller.ts';
import { createPushes } from './pushes/pushes.ts';
import { removeOldBuilds, removeOldSources, trashOrphanedBuilds, trashOrphanedSources } from './retention.ts';
import { RevisionLogs } from './revisionLogs.ts';
import { isSettled } from './revisionStates.ts';
import { RevisionWork } from './revisionWork.ts';
import { createRevisions, hasNewerRequest, requeueRevision } from './revisions.ts';
import { pushRoutes } from './routes/pushRoutes.ts';
import { controlPlaneRoutes, uploadRoutes } from './routes/routes.ts';
import { createPublicResources, type SpokenVocabulary } from './routes/vocabularyTranslation.ts';
import { SecretsRotation } from './secretsRotation.ts';
import { createSources } from './sources/sources.ts';
import { Uploads } from './uploads.ts';

export interface ControlPlaneOptions {
  readonly home: string;
  readonly kysely: Kysely<Schema>;
  /** Seals the stored secrets. */
  readonly sealing: RotatingSealing;
  readonly access: Access;
  readonly log: Logger;
  readonly buildRevision: BuildRevision;
  readonly startAgent: StartAgent;
  readonly containers: Containers;
  /** How to isolate builds and agents. Default: `process`. */
  readonly isolation?: Isolation;
  readonly gateway: GatewaySwitch;
  /** The environment of a revision's agent besides its secrets. */
  readonly agentEnvironment: (agent: {
    deploymentId: string;
    revisionId: string;
    name: string;
  }) => Promise<Record<string, string>>;
  /** The database storage of a deployment's agents. */
  readonly agentStorage: Pick<AgentStorage, 'remove'>;
  /** Its address from outside, if that differs from the requests' (behind a proxy). */
  readonly publicUrl?: string;
  /** The vocabulary on the wire: the contract's, the public API's, or (default) both; see `translateVocabulary`. */
  readonly vocabulary?: SpokenVocabulary;
  /** How many builds run at once. Default: 2. */
  readonly buildSlots?: number;
  /** The timeout from an agent's start to its first answer, in milliseconds. Default: 60,000. */
  readonly readyTimeoutMs?: number;
  /** How long a replaced agent may finish its runs, in milliseconds. Default: 30,000. */
  readonly drainTimeoutMs?: number;
  /** How long to keep the audit log, in milliseconds. Default: a year. */
  readonly auditKeptMs?: number;
  /** The largest request body, in bytes. Default: 1 MB. */
  readonly bodyMaxBytes?: number;
  /** The largest upload, in bytes. Default: 200 MB. */
  readonly uploadMaxBytes?: number;
  /** How often to poll the branches that deployments follow, in ms; 0: never. Default: 60,000. */
  readonly gitPollMs?: number;
  /** How many uploaded sources of a deployment to keep, see `removeOldSources`. Default: 20. */
  readonly sourcesKept?: number;
}

/** The control plane of contract 000. */
export interface ControlPlane {
  readonly app: Hono;
  readonly agents: Fleet['count'];
  readonly buildQueue: () => number;
  /** Registers every deployment with the gateway. Call it before the listener opens: until then, all are unknown. */
  registerDeployments(): Promise<void>;
  /** Restarts the agents of the active revisions and resumes unfinished work. */
  start(): Promise<void>;
  /** Stops work (the next start resumes it) and drains the agents. */
  close(): Promise<void>;
}

/** How long agents may finish their runs when the platform stops: process managers kill after 10 s or more. */
const CLOSE_TIMEOUT_MS = 8_000;
const AUDIT_KEPT_MS = 365 * 86_400_000;
const CLEAN_EVERY_MS = 3_600_000;
/** The sources whose revisions run as containers. */
const IMAGE_SOURCES = ['external_image', 'internal_image'];

/** Makes a {@link ControlPlane}; it does nothing before its `start`. */
export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { kysely, log, sealing } = options;
  const home = homeLayout(options.home);
  const secrets = createStoredSecrets(sealing);
  const secretsRotation = new SecretsRotation({ kysely, home: options.home, sealing });
  const logs = new RevisionLogs(kysely, log);
  const uploads = new Uploads({ kysely, home, log, maxBytes: options.uploadMaxBytes });
  const fleet = new Fleet({
    gateway: options.gateway,
    log,
    readyTimeoutMs: options.readyTimeoutMs ?? 60_000,
    drainTimeoutMs: options.drainTimeoutMs ?? DRAIN_MS,
    closeTimeoutMs: CLOSE_TIMEOUT_MS,
  });
  const sources = createSources({ kysely, home, containers: options.containers });
  const work = new RevisionWork({
    kysely,
    home,
    logs,
    log,
    fleet,
    sources,
    buildRevision: options.buildRevision,
    startAgent: options.startAgent,
    environmentOf: async (revision) => {
      const own = secrets.open(revision.sealed_secrets, revision.deployment_id);
      return {
        ...Object.fromEntries(own.map((secret) => [secret.name, secret.value])),
        // Last, so that a secret cannot override the platform's variables.
        ...(await options.agentEnvironment({
          deploymentId: revision.deployment_id,
          revisionId: revision.id,
          name: revision.name,
        })),
      };
    },
  });
  const orchestrator = new Orchestrator({
    kysely,
    log,
    work,
    fleet,
    sources,
    buildSlots: options.buildSlots ?? 2,
    afterWork: async (deploymentId) => {
      await removeOldBuilds(kysely, home, deploymentId);
      await removeOldSources(kysely, home, deploymentId, options.sourcesKept);
    },
    removeDeployment: async (deploymentId) => {
      await removeAgentData(kysely, deploymentId);
      await options.agentStorage.remove(deploymentId);
      const images = await ofImage().where('id', '=', deploymentId).execute();
      if (images.length > 0) await options.containers.release(deploymentId);
      await deployments.purge(deploymentId);
      await rm(home.buildsOf(deploymentId), { recursive: true, force: true });
      await rm(home.objectsOf(deploymentId), { recursive: true, force: true });
    },
  });
  const idempotency = createIdempotency(sealing);
  const deployments = createDeployments({
    kysely,
    secrets,
    idempotency,
    changed: (deployment) => {
      // Register it at once, so that requests to its agent are answered with "nothing is active" instead of
      // "unknown".
      if (deployment !== undefined) options.gateway.register(deployment, { starting: false });
      orchestrator.requestPass();
    },
  });
  const revisions = createRevisions({
    kysely,
    changed: () => orchestrator.requestPass(),
    interruptWork: (revisionId) => orchestrator.interrupt(revisionId),
  });
  const logFollowing = new LogFollowing({ kysely, logs });

  const branchPoller = new BranchPoller({
    kysely,
    home,
    log,
    intervalMs: options.gitPollMs ?? POLL_INTERVAL_MS,
    onRevisionsCreated: () => orchestrator.requestPass(),
  });
  const pushes = createPushes({
    kysely,
    onRevisionsCreated: () => orchestrator.requestPass(),
    queryBranches: (branches) => branchPoller.queryNow(branches),
  });

  const app = new Hono();
  app.route('/', uploadRoutes(uploads, options.access));
  app.route('/', pushRoutes({ kysely, pushes, log }));
  app.route(
    '/',
    controlPlaneRoutes({
      access: options.access,
      log,
      secretsRotation,
      deployments,
      revisions,
      uploads,
      logs,
      logFollowing,
      listeners: createListeners(kysely),
      publicResources: createPublicResources(kysely),
      integrations: createIntegrations(kysely),
      publicUrl: options.publicUrl,
      vocabulary: options.vocabulary,
      bodyMaxBytes: options.bodyMaxBytes,
    }),
  );

  const restoreAgents = async (): Promise<void> => {
    const active = selectRevisionsToWorkOn(kysely)
      .whereRef('deployments.active_revision_id', '=', 'revisions.id')
      .where('deployments.status', '!=', 'AWAITING_DELETE');
    for (const revision of await active.execute()) {
      const spec = await work.agentSpecOf(revision);
      if (spec !== undefined) fleet.restore(spec);
      else if (isSettled(revision.status) && !(await hasNewerRequest(kysely, revision))) {
        await requeueRevision(kysely, revision.id, 'The build is no longer on the disk: it is built again.');
      }
    }
  };

  const ofImage = () => kysely.selectFrom('deployments').select('id').where('source', 'in', IMAGE_SOURCES);

  /** Removes containers of a killed platform. If no deployment uses containers, no engine is called. */
  const removeLeftContainers = async (): Promise<void> => {
    if (options.isolation !== 'container' && (await ofImage().executeTakeFirst()) === undefined) return;
    const removed = await options.containers.removeLeft();
    if (removed === undefined) log.warn('no container engine answers; what may be left on it stays');
    else if (removed > 0) log.info({ removed }, 'containers of an earlier process were removed');
  };

  const clean = async (): Promise<void> => {
    try {
      await uploads.clean();
      await idempotency.clean(kysely);
      await pushes.clean();
      await removeExpiredLinks(kysely);
      await removeOldAudit(kysely, options.auditKeptMs ?? AUDIT_KEPT_MS);
      await trashOrphanedBuilds(kysely, home);
      await trashOrphanedSources(kysely, home);
      await emptyTrash(home);
      // The engine may not have answered at the start.
      await removeLeftContainers();
    } catch (error) {
      log.warn({ err: error }, 'cleaning up failed; it is tried again in an hour');
    }
  };
  let cleaned = Promise.resolve();
  const cleaning = setInterval(() => {
    cleaned = clean();
  }, CLEAN_EVERY_MS);
  cleaning.unref();

  return {
    app,
    agents: () => fleet.count(),
    buildQueue: () => orchestrator.queued,
    registerDeployments: async () => {
      const rows = await kysely.selectFrom('deployments').select(['id', 'active_revision_id']).execute();
      for (const { id, active_revision_id: active } of rows) {
        options.gateway.register(id, { starting: active !== null });
      }
    },
    start: async () => {
      // Remove what a killed process left, before any work begins.
      await removeLeftContainers();
      await removeTree(home.scratches);
      await secretsRotation.resume();
      await restoreAgents();
      await clean();
      await orchestrator.start();
      branchPoller.start();
    },
    close: async () => {
      clearInterval(cleaning);
      logFollowing.close();
      await branchPoller.close();
      await orchestrator.close();
      await fleet.close();
      await cleaned;
      await logs.flush();
    },
  };
}
