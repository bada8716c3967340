import type { Context } from 'hono';
import type { Logger } from 'pino';
import type { z } from 'zod';

import { traceIdOf } from '@slipway/contract/traceparent';
import { RUN_API_ENDPOINTS as ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import type { FollowQuery, JoinStreamQuery, RunCreate } from '@slipway/contract/runApi/run';
import { HttpProblem, invalid } from '../../http/problem.ts';
import type { Serve } from '../../http/serve.ts';
import type { Assistants } from '../graphs/assistants.ts';
import { type LiveRun, type RunEnding, RunMovedError } from '../runs/liveRun.ts';
import { type Kwargs, planRun, type RunPlan } from '../runs/newRun.ts';
import type { RunService } from '../runs/runService.ts';
import type { CheckpointStore } from '../store/checkpointStore.ts';
import type { EventStore } from '../store/eventStore.ts';
import { ACTIVE, isActive, type RunRecord } from '../store/agentDatabase.ts';
import type { RunStore } from '../store/runStore.ts';
import type { ThreadStore } from '../store/threadStore.ts';
import { joinStream } from './runStreams.ts';
import { type AgentSpans, traceOf, traceRun } from '../traces/agentSpans.ts';
import { pickFields, wireNewRun, wireRun } from './wire.ts';
import { eventStreamResponse, longJsonResponse } from '../../http/serverSentEvents.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';

type RunIds = z.infer<typeof ENDPOINTS.getRun.params>;

/** A request that creates a run; without a thread it is stateless. */
interface RunRequest {
  readonly params: { readonly thread_id: string } | undefined;
  readonly query: FollowQuery | undefined;
  readonly body: RunCreate;
}

/** Runs: create, follow, read, cancel (contract 001, "Endpoints"). */
export function serveRuns(
  serve: Serve,
  parts: {
    webhooks: Webhooks;
    assistants: Assistants;
    threads: ThreadStore;
    runs: RunStore;
    events: EventStore;
    checkpoints: CheckpointStore;
    service: RunService;
    log: Logger;
    spans?: AgentSpans;
  },
): void {
  const { threads, runs, service } = parts;

  serve(ENDPOINTS.cancelRuns, async ({ query, body }) => {
    const { thread_id: threadId, run_ids: runIds, status } = body;
    const found =
      threadId != null
        ? await runs.activeRuns(threadId, runIds ?? [])
        : await runs.withStatus(status == null || status === 'all' ? ACTIVE : [status]);
    const canceled = await service.cancel(found, query.action);
    if (canceled === 0) throw new HttpProblem(404, 'No active run matches.');
  });

  for (const endpoint of [ENDPOINTS.createRun, ENDPOINTS.createStatelessRun]) {
    serve(endpoint, async (asked, c) => {
      const { live } = await start(c, asked);
      c.header('content-location', addressOf(live.record));
      return wireNewRun(live.record);
    });
  }
  for (const endpoint of [ENDPOINTS.waitRun, ENDPOINTS.waitStatelessRun]) {
    serve(endpoint, async (asked, c) => {
      const { live, plan } = await start(c, asked);
      return respondWithEnding(c, service.waitForEnding(live.record), {
        headers: locationHeaders(live.record, 'join'),
        onDisconnect: () => cancelIf(plan.cancelOnDisconnect, live.record),
      });
    });
  }
  for (const endpoint of [ENDPOINTS.streamRun, ENDPOINTS.streamStatelessRun]) {
    serve(endpoint, async (asked, c) => {
      const { live, plan } = await start(c, asked);
      return eventStreamResponse(c, await live.follow(), {
        headers: locationHeaders(live.record, 'stream'),
        onDisconnect: () => cancelIf(plan.cancelOnDisconnect, live.record),
      });
    });
  }

  serve(ENDPOINTS.createRuns, async ({ body: bodies }) => {
    // Check all of them before starting the first.
    const plans = await Promise.all(bodies.map((body) => plan(body, {}, undefined)));
    const lives = await service.startAll(plans);
    return lives.map((live) => wireNewRun(live.record));
  });

  serve(ENDPOINTS.listRuns, async ({ params, query: { select, ...page } }) => {
    await threads.get(params.thread_id);
    const found = await runs.list(params.thread_id, page);
    return found.map((run) => pickFields(wireRun(run), select));
  });

  serve(ENDPOINTS.getRun, async ({ params }) => wireRun(await runOf(params)));

  serve(ENDPOINTS.deleteRun, async ({ params }) => {
    const run = await runOf(params);
    if (isActive(run)) throw new HttpProblem(409, `Run ${run.run_id} is ${run.status}: cancel it first.`);
    await runs.remove(run);
  });

  serve(ENDPOINTS.cancelRun, async ({ params, query }, c) => {
    const run = await runOf(params);
    if (!isActive(run)) throw runNotActive(run);
    // It has ended or was removed since it was read.
    if ((await service.cancel([run], query.action)) === 0) throw runNotActive(await runOf(params));
    if (!query.wait) return c.body(null, 202);
    return service.waitForEnding(run);
  });

  serve(ENDPOINTS.joinRun, async ({ params, query }, c) => {
    const run = await findRunToFollow(params);
    const disconnected = new AbortController();
    return respondWithEnding(c, service.waitForEnding(run, disconnected.signal), {
      headers: locationHeaders(run, 'join'),
      onDisconnect: () => {
        cancelIf(query.on_disconnect ?? query.cancel_on_disconnect, run);
        disconnected.abort();
      },
    });
  });

  serve(ENDPOINTS.joinRunStream, async ({ params, query }, c) =>
    streamOf(c, await findRunToFollow(params), query),
  );

  // The public client follows a stateless run by its id alone.
  serve(ENDPOINTS.joinStatelessRunStream, async ({ params: { run_id: runId }, query }, c) => {
    const run = await runs.findById(runId);
    if (run === undefined) throw new HttpProblem(404, `Run ${runId} not found.`);
    service.requireFollowable(run);
    return streamOf(c, run, query);
  });

  function cancelIf(isWanted: boolean, run: RunRecord): void {
    if (isWanted) service.cancelAfterDisconnect(run);
  }

  async function streamOf(
    c: Context,
    run: RunRecord,
    query: z.infer<typeof JoinStreamQuery>,
  ): Promise<Response> {
    const reader = await joinStream({ service, events: parts.events }, run, {
      lastEventId: c.req.header('last-event-id'),
      modes: query.stream_mode,
    });
    return eventStreamResponse(c, reader, {
      headers: locationHeaders(run, 'stream'),
      onDisconnect: () => cancelIf(query.on_disconnect ?? query.cancel_on_disconnect, run),
    });
  }

  async function start(
    c: Context,
    { params, query, body }: RunRequest,
  ): Promise<{ live: LiveRun; plan: RunPlan }> {
    const planned = await plan(body, query ?? {}, params?.thread_id);
    const live = await service.start(planned);
    const trace = traceOf(c.req.raw);
    if (trace !== undefined) {
      parts.log.info({ runId: live.runId, trace_id: traceIdOf(trace) }, 'accepted a run of a trace');
      if (parts.spans !== undefined) traceRun(parts.spans, live, trace);
    }
    return { live, plan: planned };
  }

  /** Checks what the schema cannot. */
  async function plan(body: RunCreate, query: FollowQuery, threadId: string | undefined): Promise<RunPlan> {
    requireAllowedWebhook(body.webhook);
    const assistant = await parts.assistants.get(body.assistant_id);
    parts.assistants.getGraph(assistant.graph_id);
    const { runSeconds } = service.limits;
    const planned = planRun({ body, query, assistant, threadId, runSeconds });
    await parts.checkpoints.requireCheckpoint((planned.newRun.kwargs as Kwargs).config.configurable);
    return planned;
  }

  function requireAllowedWebhook(url: string | null | undefined): void {
    const refusal = url == null ? undefined : parts.webhooks.refusal(url);
    if (refusal === undefined) return;
    const msg = `No webhook is sent there: ${refusal}`;
    throw invalid([{ loc: ['body', 'webhook'], msg, type: 'value_error' }]);
  }

  async function runOf({ thread_id: threadId, run_id: runId }: RunIds): Promise<RunRecord> {
    return runs.get(threadId, runId);
  }

  /** The run to follow. If it executes here, it is not read from the database. */
  async function findRunToFollow(ids: RunIds): Promise<RunRecord> {
    const live = service.findLive(ids.run_id);
    if (live?.isExecuting === true && live.threadId === ids.thread_id) return live.record;
    const run = await runOf(ids);
    service.requireFollowable(run);
    return run;
  }

  /**
   * The headers are sent, so the body reports the error. If another process continues the run, the client asks again.
   */
  function encodeEndingError(error: unknown): string {
    if (error instanceof RunMovedError) throw error;
    // After an abort the client is gone.
    if ((error as Error).name !== 'AbortError')
      parts.log.error({ err: error }, 'the end of a run could not be reported');
    return JSON.stringify({
      __error__: { error: 'InternalError', message: 'The end of the run could not be read.' },
    });
  }

  function respondWithEnding(
    c: Context,
    ending: Promise<RunEnding>,
    options: { headers: Record<string, string>; onDisconnect: () => void },
  ): Response {
    return longJsonResponse(c, ending.then(encodeEnding, encodeEndingError), options);
  }
}

/** The answer of `wait` and `join`: the final values, or `__error__` (contract 001: "not shown"). */
function encodeEnding(ending: RunEnding): string {
  return ending.failure === undefined ? ending.values : JSON.stringify({ __error__: ending.failure });
}

function runNotActive(run: RunRecord): HttpProblem {
  return new HttpProblem(
    409,
    `Run ${run.run_id} cannot be cancelled: it is neither pending nor running but ${run.status}.`,
  );
}

/**
 * Clients take the run's ids from `Content-Location` before the run ends. If the connection breaks, they send a GET to
 * `Location`.
 */
function locationHeaders(run: RunRecord, follow: 'join' | 'stream'): Record<string, string> {
  return { 'content-location': addressOf(run), location: `${addressOf(run)}/${follow}` };
}

function addressOf({ thread_id: threadId, run_id: runId }: RunRecord): string {
  return `/threads/${threadId}/runs/${runId}`;
}
