import { join } from 'node:path';

import { Hono, type MiddlewareHandler } from 'hono';
import type { Logger } from 'pino';

import { listen, listenerOf } from '../http/listen.ts';
import { createLogger } from '../http/logger.ts';
import { limitBody } from '../http/parse.ts';
import { HttpProblem, problemHandler, unservedHandler } from '../http/problem.ts';
import { serveOn } from '../http/serve.ts';
import { isDatabaseReachable } from '../store/databaseOutage.ts';
import { openEmbeddedPostgres } from '../store/embeddedPostgres.ts';
import { feedbackRoutes } from '../tracing/feedbackRoutes.ts';
import { openTracing } from '../tracing/tracingStore.ts';
import { Assistants } from './graphs/assistants.ts';
import { loadGraphs } from './graphs/graphLoader.ts';
import { GraphStore, withStores } from './graphs/graphStore.ts';
import { ThreadStates } from './graphs/threadStates.ts';
import { serveAssistants } from './http/assistantRoutes.ts';
import { browserAccess, requireApiKey } from './http/access.ts';
import { serveRuns } from './http/runRoutes.ts';
import { serveItems } from './http/storeRoutes.ts';
import { serveThreads, serveThreadStates, serveThreadStream } from './http/threadRoutes.ts';
import { RunOutcomes } from './runs/runOutcome.ts';
import { LEASE_MS, ProcessLease } from './runs/processLease.ts';
import { RunOwnership } from './runs/runOwnership.ts';
import { RunService } from './runs/runService.ts';
import type { RunLimits } from './runs/runLimits.ts';
import { ThreadRemoval } from './runs/threadRemoval.ts';
import { pollRunEnds, pollThreadChanges } from './runs/changePoller.ts';
import { openAgentDatabase } from './store/agentDatabase.ts';
import { AssistantStore } from './store/assistantStore.ts';
import { CheckpointHistory } from './store/checkpointHistory.ts';
import { CheckpointStore } from './store/checkpointStore.ts';
import { EventStore } from './store/eventStore.ts';
import { ItemStore } from './store/itemStore.ts';
import { ProcessStore } from './store/processStore.ts';
import { RunEnds } from './store/runEnds.ts';
import { RunFootprint } from './store/runFootprint.ts';
import { RunStore } from './store/runStore.ts';
import { ThreadStore } from './store/threadStore.ts';
import { type AgentSpans, traceRequests } from './traces/agentSpans.ts';
import { PendingWebhooks } from './store/pendingWebhooks.ts';
import { RunEndReports } from './webhooks/runEndReports.ts';
import { type WebhookOptions, Webhooks } from './webhooks/webhooks.ts';

/** The largest request body, in bytes: inputs are conversations, not files. */
const BODY_MAX_BYTES = 16 * 1_048_576;

export interface AgentServerOptions {
  agentDir: string;
  /** Relative to `agentDir`. Default `graph.json`, or `langgraph.json`. */
  graphConfigPath?: string;
  /** 0 takes a free port. */
  port: number;
  /** Default `127.0.0.1`. */
  host?: string;
  /** A Postgres that all revisions of a deployment share. Absent: an embedded one in `home`. */
  databaseUrl?: string;
  /** The embedded database's folder. Default `.slipway/agent` in `agentDir`. */
  home?: string;
  /** If set, every request except `GET /ok` and feedback links must carry it as `x-api-key`. */
  apiKey?: string;
  /** The base address of feedback links. Absent: this server's. */
  tracingUrl?: string;
  /** The deployment that threads and runs belong to. Default `standalone`. */
  deploymentId?: string;
  revisionId?: string;
  projectName?: string;
  limits?: Partial<RunLimits>;
  /** The webhook targets to allow besides public addresses, and the signing key. */
  webhooks?: Omit<WebhookOptions, 'log'>;
  /**
   * Silence after which other processes of the deployment claim this one's runs, in milliseconds. Default 20,000.
   * They notice a dead process of the same machine at once.
   */
  leaseMs?: number;
  /** How many attempts a run may lose with their process before it ends with an error. Default 3. */
  maxAttempts?: number;
  /** Makes spans of requests and runs that belong to a trace. Default: no spans. */
  spans?: AgentSpans;
  log?: Logger;
}

export interface AgentServer {
  readonly url: string;
  /** Accepts no new runs. Hands pending runs over at once, running ones after `timeoutMs` or at `hurrySignal`. */
  drain(timeoutMs: number, hurrySignal?: AbortSignal): Promise<void>;
  /** Drains with a timeout of 0, stops listening, and closes the database. */
  close(): Promise<void>;
}

/**
 * Serves the Run API (contract 001) for the graphs of an agent's folder. Resolves when every graph is loaded and the
 * server listens.
 * @throws PlatformError `SLIPWAY_GRAPH_NOT_LOADED`; for an embedded database `SLIPWAY_HOME_IN_USE` and
 * `SLIPWAY_DATABASE_UNREACHABLE`.
 */
export async function startAgentServer(options: AgentServerOptions): Promise<AgentServer> {
  const log = options.log ?? createLogger();
  const deploymentId = options.deploymentId ?? 'standalone';
  const webhooks = new Webhooks({ ...options.webhooks, log });
  const { graphs, cors } = await loadGraphs(options.agentDir, options.graphConfigPath, log);
  let closing = false;
  const onConnectionError = (error: Error): void => {
    // While closing, the embedded server also ends connections that are closing already.
    if (!closing) log.warn({ err: error }, 'a database connection broke');
  };
  const opened: { close(): Promise<void> }[] = [];
  const closeDatabase = async () => {
    closing = true;
    for (const resource of opened.reverse()) await resource.close();
  };
  try {
    let { databaseUrl } = options;
    if (databaseUrl === undefined) {
      const home = options.home ?? join(options.agentDir, '.slipway', 'agent');
      const embedded = await openEmbeddedPostgres(home, onConnectionError);
      opened.push(embedded);
      databaseUrl = embedded.connectionString;
    }
    const database = await openAgentDatabase(databaseUrl, onConnectionError);
    opened.push(database);
    const tracing = await openTracing(database.kysely);
    const checkpoints = new CheckpointStore(database.pool, deploymentId);
    const leaseMs = options.leaseMs ?? LEASE_MS;
    const processes = new ProcessStore({ db: database.heartbeats, deploymentId, leaseMs });
    const { processId } = processes;
    const deployment = { db: database.kysely, deploymentId, processId };
    const runs = new RunStore(deployment);
    const footprint = new RunFootprint(deployment);
    const events = new EventStore(deployment);
    const threads = new ThreadStore(deployment);
    const pendingWebhooks = new PendingWebhooks(deployment);
    const endReports = new RunEndReports({ webhooks, pendingWebhooks, log });
    const lease = new ProcessLease({ processes, leaseMs, onExpired: () => service.stopLostRuns(), log });
    const items = new ItemStore(deployment);
    const stored = withStores(graphs, checkpoints, new GraphStore(items, lease));
    const assistants = new Assistants(stored, new AssistantStore(deployment));
    const states = new ThreadStates(threads, assistants, checkpoints);
    const outcomes = new RunOutcomes({ assistants, states, checkpoints, footprint, lease, log });
    let url = '';
    const service = new RunService({
      runs,
      ends: new RunEnds(deployment),
      lease,
      checkpoints,
      footprint,
      remoteRunEnds: pollRunEnds(runs, log),
      outcomes,
      assistants,
      events,
      createFeedbackLinks: (runId, keys) =>
        tracing.createFeedbackLinks({
          tracingUrl: options.tracingUrl ?? url,
          runId,
          keys,
          deploymentId,
          projectName: options.projectName,
        }),
      endReports,
      limits: options.limits,
      maxAttempts: options.maxAttempts,
      log,
    });
    const parts = { threads, runs, events, checkpoints, service, states, webhooks, assistants, log };
    const ownership = new RunOwnership({ ...parts, processes, items, endReports, lease });

    const { spans } = options;
    const app = new Hono();
    if (spans !== undefined) app.use(traceRequests(spans));
    app.onError(problemHandler(log));
    app.notFound(unservedHandler(app));
    const guard = options.apiKey === undefined ? undefined : requireApiKey(options.apiKey);
    app.route('/', feedbackRoutes({ tracing, guard, readerOf: () => ({ deploymentId }) }));
    app.use(browserAccess(cors, guard !== undefined));
    app.get('/ok', (c) => c.json({ ok: true }));
    if (guard !== undefined) app.use(guard);
    app.use(limitBody(BODY_MAX_BYTES));
    app.get('/info', async (c) =>
      c.json({
        version: '1',
        deployment_id: deploymentId,
        revision_id: options.revisionId ?? null,
        project_name: options.projectName ?? null,
        graphs: assistants.systemAssistants.map(({ graph_id, assistant_id }) => ({ graph_id, assistant_id })),
        // The graphs are loaded, so this depends only on the database.
        serving: await isDatabaseReachable(database.kysely),
      }),
    );
    const changes = pollThreadChanges(threads, log);
    const history = new CheckpointHistory(deployment);
    const removal = new ThreadRemoval({ ...parts, history });
    const serve = serveOn(app);
    serveAssistants(serve, assistants, removal);
    serveThreads(serve, { threads, states, removal, history });
    serveThreadStates(serve, threads, states);
    serveRuns(serve, { ...parts, spans });
    serveThreadStream(serve, { ...parts, changes });
    serveItems(serve, items);
    app.all('*', rejectUnsupported);

    // Before the server accepts runs: others claim a run whose owner is not in the list of processes.
    await lease.start();
    const listening = await listen(listenerOf(app, log), { port: options.port, host: options.host });
    url = listening.url;
    await ownership.start();
    return {
      url,
      drain: async (timeoutMs, hurrySignal) => {
        await service.drain(timeoutMs, hurrySignal);
        changes.stop();
      },
      close: async () => {
        await ownership.stop();
        await service.drain(0);
        changes.stop();
        // Before others may claim the webhooks that it ends.
        await webhooks.close();
        await lease.stop();
        await listening.close();
        await spans?.close();
        await closeDatabase();
      },
    };
  } catch (error) {
    await closeDatabase();
    throw error;
  }
}

/** What the public client can request but this server does not serve, and the alternative. All are decisions. */
const UNSUPPORTED_PATHS: readonly (readonly [path: RegExp, instead: string])[] = [
  [
    /^(?:\/threads\/[^/]+)?\/runs\/crons(?:\/|$)/u,
    'Cron jobs are not served: let a scheduler of yours create runs.',
  ],
  [
    /^\/threads\/[^/]+\/(?:commands|stream\/events)$/u,
    'The thread-centric protocol (v2) is not served: use runs, which the public client does by default.',
  ],
  [/^\/ui\//u, 'User interface components are not served.'],
];

/** Answers 404 with a sentence that says what is not served. A bare "Not Found" would look like a mistake. */
const rejectUnsupported: MiddlewareHandler = (c, next) => {
  const unserved = UNSUPPORTED_PATHS.find(([path]) => path.test(c.req.path));
  if (unserved === undefined) return next();
  throw new HttpProblem(404, unserved[1]);
};
