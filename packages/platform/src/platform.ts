import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Context, Hono } from 'hono';
import type { Logger } from 'pino';

import { type Access, createAccess, requireCaller } from './access/access.ts';
import { createAgentAdmission, createAgentKeys } from './access/agentAdmission.ts';
import { callerOf } from './access/caller.ts';
import type { RateLimit } from './access/tokenBuckets.ts';
import { packTraces, type TraceVariables } from './agentServer/traces/traceVariables.ts';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  createControlPlane,
} from './controlPlane/controlPlane.ts';
import { claimInstance } from './controlPlane/instance.ts';
import type { PlatformError } from './errors.ts';
import { Gateway } from './gateway/gateway.ts';
import {
  type AnsweredRequest,
  logTracedChange,
  reportAnswers,
  reportAgentRequest,
} from './http/answeredRequests.ts';
import { listen, type Listening, listenerOf } from './http/listen.ts';
import { createLogger } from './http/logger.ts';
import { answerProblem, problemHandler, problemOf, unservedHandler } from './http/problem.ts';
import { type IsolationOptions, openRuntime } from './isolation.ts';
import { openApiRoutes } from './openapi/openApiRoutes.ts';
import type { ServedMetrics } from './metrics/serveMetrics.ts';
import { AgentStorage } from './store/agentStorage.ts';
import { type Database, openDatabase } from './store/database.ts';
import { isDatabaseReachable } from './store/databaseOutage.ts';
import { DatabaseOwner } from './store/databaseOwner.ts';
import { lockHome } from './store/homeLock.ts';
import { loadApiKey, loadSealing } from './store/keyFiles.ts';
import { feedbackRoutes, projectRoutes } from './tracing/feedbackRoutes.ts';
import { openTracing, type TracingStore } from './tracing/tracingStore.ts';

export interface PlatformOptions
  extends
    IsolationOptions,
    Pick<
      ControlPlaneOptions,
      | 'auditKeptMs'
      | 'bodyMaxBytes'
      | 'buildSlots'
      | 'gitPollMs'
      | 'publicUrl'
      | 'readyTimeoutMs'
      | 'uploadMaxBytes'
      | 'vocabulary'
    > {
  /** Its directory, created if missing: keys, uploads, builds, and the embedded database. */
  home: string;
  /** 0 takes a free port. */
  port: number;
  /** Default `127.0.0.1`. */
  host?: string;
  /** Any Postgres. Default: the embedded one in `<home>/postgres`. */
  databaseUrl?: string;
  /** Pair home and database even if they do not belong together. Default: refuse. */
  adoptDatabase?: boolean;
  /** Default: the one in `<home>/api.key`, created at the first start. */
  apiKey?: string;
  /** Per key, on the control plane; agents have no limit here. Default: 500 requests a second, 5,000 at once. */
  rateLimit?: RateLimit | 'none';
  /** Addresses and networks of proxies whose `X-Forwarded-For` is trusted. Default: none. */
  trustedProxies?: readonly string[];
  /** Called for each answered request, for traces. */
  onAnswered?: (answered: AnsweredRequest) => void;
  /** The OpenTelemetry variables for agents' spans. Default: no spans. */
  agentTraces?: TraceVariables;
  /** The address of `GET /metrics`: a listener without a key, for the operator's network only. Default: none. */
  metrics?: { readonly host: string; readonly port: number };
  /** Default: JSON lines on stderr. */
  log?: Logger;
}

export interface Platform {
  /** The control plane's base URL: `http://host:port`. */
  readonly url: string;
  readonly apiKey: string;
  /** Resolves when another platform has taken its database: this one must end. */
  readonly lost: Promise<PlatformError>;
  /** Accepts no more requests, lets open ones and the agents finish (about 10 s), and closes the database. */
  close(): Promise<void>;
}

/** The default rate limit of a key on the control plane. */
export const RATE_LIMIT: RateLimit = { perSecond: 500, burst: 5_000 };
const CLOSE_GRACE_MS = 10_000;
const CLOSE_LIMIT_MS = 20_000;

/**
 * Starts both services on one listener: the control plane (`/v1`, `/v2`, `/deployments`, `/uploads`), the agents of
 * its deployments (`/agents/{deployment_id}/…`), feedback (`/api/v1/…`) and `/health`. Resolves when it listens.
 * Agents that served before the last stop are restarted in the background, and requests wait for them.
 * @throws PlatformError SLIPWAY_HOME_IN_USE, SLIPWAY_DATABASE_UNREACHABLE, SLIPWAY_DATABASE_IN_USE,
 * SLIPWAY_DATABASE_NEWER, SLIPWAY_INSTANCE_MISMATCH, SLIPWAY_PORT_UNAVAILABLE, SLIPWAY_MASTER_KEY_INVALID.
 */
export async function startPlatform(options: PlatformOptions): Promise<Platform> {
  const log = options.log ?? createLogger();
  const cleanups: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (let step = cleanups.pop(); step !== undefined; step = cleanups.pop()) await step();
  };
  try {
    const lock = await lockHome(options.home, 'platform');
    cleanups.push(() => lock.release());
    const sealing = await loadSealing(options.home);
    const apiKey = await loadApiKey(options.home, options.apiKey);
    // First: a platform that may not use a database must not change its tables.
    const owner =
      options.databaseUrl === undefined
        ? undefined
        : await DatabaseOwner.claim(options.databaseUrl, (error) =>
            log.error({ err: error }, 'the connection that holds the database broke; it is made again'),
          );
    cleanups.push(async () => owner?.release());
    const metrics = options.metrics && (await openMetrics(options.metrics));
    cleanups.push(async () => metrics?.close());
    const database = await openDatabase({
      home: options.home,
      databaseUrl: options.databaseUrl,
      onQuery: metrics?.onQuery,
      onConnectionError: (error) => log.warn({ err: error }, 'a connection to the database broke'),
    });
    cleanups.push(() => database.close());
    const instanceId = await claimInstance({
      home: options.home,
      kysely: database.kysely,
      adopt: options.adoptDatabase ?? false,
    });
    const tracing = await openTracing(database.kysely);
    const storage = new AgentStorage(database);
    // The embedded database allows roles; it is prepared with the first agent.
    if (options.databaseUrl !== undefined) await storage.prepare();
    const agentKeyOf = createAgentKeys();
    const gateway = new Gateway({ agentKeyOf });
    cleanups.push(() => gateway.close());

    // Agents get the listener's address, which is known only once it listens.
    let url = '';
    const access = createAccess({
      operatorKey: apiKey,
      kysely: database.kysely,
      log,
      trustedProxies: options.trustedProxies,
      rateLimit: options.rateLimit === 'none' ? undefined : (options.rateLimit ?? RATE_LIMIT),
    });
    const { buildRevision: build, ...runtime } = await openRuntime(options, instanceId, log);
    const controlPlane = createControlPlane({
      ...options,
      ...runtime,
      kysely: database.kysely,
      sealing,
      access,
      log,
      gateway,
      buildRevision: metrics === undefined ? build : metrics.builds(build),
      agentStorage: storage,
      agentEnvironment: async ({ deploymentId, revisionId, name }) => ({
        SLIPWAY_AGENT_DATABASE_URL: await storage.urlOf(deploymentId),
        SLIPWAY_AGENT_API_KEY: agentKeyOf(deploymentId),
        SLIPWAY_AGENT_TRACING_URL: options.publicUrl ?? url,
        SLIPWAY_AGENT_DEPLOYMENT_ID: deploymentId,
        SLIPWAY_AGENT_REVISION_ID: revisionId,
        SLIPWAY_AGENT_PROJECT_NAME: name,
        ...packTraces(options.agentTraces),
      }),
    });
    await metrics?.readFrom({ kysely: database.kysely, controlPlane });
    const onAnswered = (answered: AnsweredRequest): void => {
      logTracedChange(log, answered);
      metrics?.onAnswered(answered);
      options.onAnswered?.(answered);
    };
    const app = createApp({ database, tracing, access, controlPlane, log, onAnswered });

    await controlPlane.registerDeployments();
    const listening = await listen(
      routeRequests(app, gateway, createAgentAdmission(access, database.kysely), log, onAnswered),
      options,
    );
    url = listening.url;
    cleanups.push(() => shutDown(listening, controlPlane, log));
    await controlPlane.start();
    log.info({ url, home: options.home, metrics: metrics?.url }, 'the platform is ready');
    return {
      url: options.publicUrl ?? url,
      apiKey,
      lost: owner?.lost ?? new Promise(() => undefined),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The app of everything but the agents. */
function createApp({
  database,
  tracing,
  access,
  controlPlane,
  log,
  onAnswered,
}: {
  database: Database;
  tracing: TracingStore;
  access: Access;
  controlPlane: ControlPlane;
  log: Logger;
  onAnswered: (answered: AnsweredRequest) => void;
}): Hono {
  const app = new Hono();
  const guard = requireCaller(access);
  const tenantOf = (c: Context) => callerOf(c).tenantId;
  app.use(reportAnswers(onAnswered));
  app.onError(problemHandler(log));
  app.notFound(unservedHandler(app));
  app.get('/health', async (c) => {
    const ok = await isDatabaseReachable(database.kysely);
    return c.json({ status: ok ? 'ok' : 'failing', database: ok ? 'ok' : 'unreachable' }, ok ? 200 : 503);
  });
  app.route('/', feedbackRoutes({ tracing, guard, readerOf: (c) => ({ tenantId: tenantOf(c) }) }));
  app.route('/', projectRoutes({ tracing, guard, tenantOf }));
  app.route('/', openApiRoutes());
  app.route('/', controlPlane.app);
  return app;
}

/** Stops both at once, because open requests end with their agents. The next start resumes abandoned work. */
async function shutDown(listening: Listening, controlPlane: ControlPlane, log: Logger): Promise<void> {
  const ended = Promise.all([listening.close(CLOSE_GRACE_MS), controlPlane.close()]).then(() => true);
  if (await Promise.race([ended, sleep(CLOSE_LIMIT_MS, false, { ref: false })])) return;
  log.error('the platform did not stop in time; the next start continues its work');
}

/** Routes requests to agents to the gateway, if `admit` allows them, and all others to the app. */
function routeRequests(
  app: Hono,
  gateway: Gateway,
  admit: ReturnType<typeof createAgentAdmission>,
  log: Logger,
  onAnswered: (answered: AnsweredRequest) => void,
): RequestListener {
  const toApp = listenerOf(app, log);
  return (request, response) => {
    // A client may send the whole address (RFC 9112, section 3.2.2).
    const url = (request.url ?? '').replace(/^https?:\/\/[^/?#]*/iu, '');
    const agent = agentPath(url);
    if (agent === undefined) {
      toApp(request, response);
      return;
    }
    request.url = url;
    reportAgentRequest(request, response, agent, onAnswered);
    admit(request, agent.deploymentId, agent.path)
      .then(() => gateway.handle(agent.deploymentId, request, response, agent.path))
      .catch((error: unknown) => {
        const problem = problemOf(error);
        if (problem !== error)
          log.error({ err: error, deployment: agent.deploymentId }, 'a request to an agent failed');
        answerProblem(response, problem);
      });
  };
}

const AGENT_PATH = /^\/agents\/(?<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?<rest>[/?].*)?$/is;

/** The deployment of a path, and the path for its agent; undefined if it is no agent's. */
function agentPath(url: string): { deploymentId: string; path: string } | undefined {
  const groups = AGENT_PATH.exec(url)?.groups;
  if (groups?.['id'] === undefined) return undefined;
  const rest = groups['rest'] ?? '/';
  return { deploymentId: groups['id'].toLowerCase(), path: rest.startsWith('/') ? rest : `/${rest}` };
}

/** Loaded only if metrics are served. */
async function openMetrics(where: NonNullable<PlatformOptions['metrics']>): Promise<ServedMetrics> {
  const { serveMetrics } = await import('./metrics/serveMetrics.ts');
  return serveMetrics(where);
}
