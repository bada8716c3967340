import { type Context, Hono } from 'hono';
import { type Logger } from 'pino';

import { BulkCancelBody, BulkCancelQuery, CancelQuery } from '../../../contract/runApi/cancel.ts';
import { FollowQuery, JoinQuery, JoinStreamQuery } from '../../../contract/runApi/joinQuery.ts';
import { RunCreate, RunPath, RunsQuery } from '../../../contract/runApi/run.ts';
import { ThreadPath } from '../../../contract/runApi/thread.ts';
import { parseBody, parsePath, parseQuery } from '../../http/parse.ts';
import { HttpProblem } from '../../http/problem.ts';
import { type Assistants } from '../graphs/assistants.ts';
import { type LiveRun, type RunEnding } from '../runs/liveRun.ts';
import { planRun, type RunPlan } from '../runs/newRun.ts';
import { isActive, type RunService } from '../runs/runService.ts';
import { type RunRecord, type RunStore } from '../store/runStore.ts';
import { type ThreadStore } from '../store/threadStore.ts';
import { joinStream } from './runStreams.ts';
import { storable } from './storable.ts';
import { eventStreamResponse, longJsonResponse } from './streamResponse.ts';
import { wireRun } from './wire.ts';

/** What the run routes work with. */
export interface RunRouteParts {
  readonly assistants: Assistants;
  readonly threads: ThreadStore;
  readonly runs: RunStore;
  readonly service: RunService;
  readonly log: Logger;
  readonly keepAliveMs?: number | undefined;
}

/** Runs: creating, following, looking, cancelling (contract 001, "Endpoints"). */
export function runRoutes(parts: RunRouteParts): Hono {
  const { threads, runs, service } = parts;
  const app = new Hono();

  app.post('/runs/cancel', async (c) => {
    const { action } = parseQuery(BulkCancelQuery, c);
    const body = await parseBody(BulkCancelBody, c);
    const found =
      body.thread_id != null
        ? await runs.active({ threadId: body.thread_id, runIds: body.run_ids ?? [] })
        : await runs.active({ statuses: statusesOf(body.status) });
    if (found.length === 0) throw new HttpProblem(404, 'No active run matches.');
    await service.cancel(found, action);
    return c.body(null, 204);
  });

  for (const prefix of ['', '/threads/:thread_id'] as const) {
    app.post(`${prefix}/runs`, async (c) => {
      const { live } = await start(c, prefix);
      return c.json(wireRun(live.record), 200, addressOf(live));
    });

    app.post(`${prefix}/runs/wait`, async (c) => {
      const { live, plan } = await start(c, prefix);
      return waitFor(live.ended, {
        headers: addressOf(live),
        onDisconnect: () => {
          if (plan.cancelOnDisconnect) live.stop('interrupt');
        },
      });
    });

    app.post(`${prefix}/runs/stream`, async (c) => {
      const { live, plan } = await start(c, prefix);
      return eventStreamResponse(await live.follow(), {
        headers: addressOf(live),
        keepAliveMs: parts.keepAliveMs,
        onDisconnect: () => {
          if (plan.cancelOnDisconnect) live.stop('interrupt');
        },
      });
    });
  }

  app.get('/threads/:thread_id/runs', async (c) => {
    const { thread_id: threadId } = parsePath(ThreadPath, c);
    const { limit, offset, status } = parseQuery(RunsQuery, c);
    await threads.get(threadId);
    return c.json((await runs.list(threadId, { limit, offset, status })).map(wireRun));
  });

  app.get('/threads/:thread_id/runs/:run_id', async (c) => c.json(wireRun(await runOf(c))));

  app.delete('/threads/:thread_id/runs/:run_id', async (c) => {
    const run = await runOf(c);
    if (isActive(run)) throw new HttpProblem(409, `Run ${run.run_id} is ${run.status}: cancel it first.`);
    await runs.remove(run);
    return c.body(null, 204);
  });

  app.post('/threads/:thread_id/runs/:run_id/cancel', async (c) => {
    const { action, wait } = parseQuery(CancelQuery, c);
    const run = await runOf(c);
    if (!isActive(run)) {
      throw new HttpProblem(
        409,
        `Run ${run.run_id} cannot be cancelled: it is neither pending nor running but ${run.status}.`,
      );
    }
    await service.cancel([run], action);
    if (!wait) return c.body(null, 202);
    await service.ending(run);
    return c.body(null, 204);
  });

  app.get('/threads/:thread_id/runs/:run_id/join', async (c) => {
    const query = parseQuery(JoinQuery, c);
    const run = await runOf(c);
    const gone = new AbortController();
    return waitFor(service.ending(run, gone.signal), {
      headers: {},
      onDisconnect: () => {
        if (query.on_disconnect ?? query.cancel_on_disconnect) cancelUnheard(run);
        gone.abort();
      },
    });
  });

  app.get('/threads/:thread_id/runs/:run_id/stream', async (c) => {
    const query = parseQuery(JoinStreamQuery, c);
    const run = await runOf(c);
    const gone = new AbortController();
    const subscriber = await joinStream(service, run, {
      lastEventId: c.req.header('last-event-id'),
      modes: query.stream_mode,
      signal: gone.signal,
    });
    return eventStreamResponse(subscriber, {
      keepAliveMs: parts.keepAliveMs,
      onDisconnect: () => {
        gone.abort();
        if (query.on_disconnect ?? query.cancel_on_disconnect) cancelUnheard(run);
      },
    });
  });

  return app;

  async function start(c: Context, prefix: string): Promise<{ live: LiveRun; plan: RunPlan }> {
    const threadId = prefix === '' ? undefined : parsePath(ThreadPath, c).thread_id;
    const query = parseQuery(FollowQuery, c);
    const body = await parseBody(RunCreate, c);
    storable(body.metadata ?? {}, 'metadata');
    const plan = planRun({ body, query, graph: parts.assistants.graphOf(body.assistant_id), threadId });
    if (threadId !== undefined && plan.createThread)
      await threads.create({ threadId, ifExists: 'do_nothing' });
    return { live: await service.start(plan), plan };
  }

  async function runOf(c: Context): Promise<RunRecord> {
    const { thread_id: threadId, run_id: runId } = parsePath(RunPath, c);
    return runs.get(threadId, runId);
  }

  /** Nobody is left to be told of a failure to cancel: the service logs it. */
  function cancelUnheard(run: RunRecord): void {
    service.cancelUnheard(run, 'interrupt');
  }

  /** The headers have been sent: a failure of ours can only be told in the body. */
  function lostEnding(error: unknown): string {
    // Nobody waits any more after an abort.
    if ((error as Error).name !== 'AbortError')
      parts.log.error({ err: error }, 'the end of a run could not be told');
    return JSON.stringify({
      __error__: { error: 'InternalError', message: 'The end of the run could not be read.' },
    });
  }

  function waitFor(
    ending: Promise<RunEnding>,
    options: { headers: Record<string, string>; onDisconnect: () => void },
  ): Response {
    return longJsonResponse(ending.then(answerOf, lostEnding), {
      ...options,
      keepAliveMs: parts.keepAliveMs,
    });
  }
}

/** What `wait` and `join` answer: the final values, or `__error__` (facts; contract 001: "not shown"). */
function answerOf(ending: RunEnding): string {
  return ending.failure === undefined ? ending.values : JSON.stringify({ __error__: ending.failure });
}

/** Where the run is: clients take its ids from this header before the run has ended. */
function addressOf(live: LiveRun): Record<string, string> {
  return { 'content-location': `/threads/${live.threadId}/runs/${live.runId}` };
}

function statusesOf(status: BulkCancelBody['status']): string[] {
  return status == null || status === 'all' ? ['pending', 'running'] : [status];
}
