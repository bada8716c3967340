import { randomUUID } from 'node:crypto';

import { RUN_API_ENDPOINTS as ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import {
  type HistoryQuery,
  StateSearch,
  StateUpdate,
  type ThreadSearch,
} from '@slipway/contract/runApi/thread';
import type { Context } from 'hono';

import { parseBody } from '../../http/parse.ts';
import { eventStreamResponse } from '../../http/serverSentEvents.ts';
import type { Serve } from '../../http/serve.ts';
import type { ThreadStates } from '../graphs/threadStates.ts';
import { threadVersionKey, type ChangePoller } from '../runs/changePoller.ts';
import type { RunService } from '../runs/runService.ts';
import type { ThreadRemoval } from '../runs/threadRemoval.ts';
import { type ThreadSource, ThreadStream } from '../runs/threadStream.ts';
import type { CheckpointHistory } from '../store/checkpointHistory.ts';
import type { EventStore } from '../store/eventStore.ts';
import type { RunStore } from '../store/runStore.ts';
import { threadNotFound } from '../store/threadProblems.ts';
import type { NewThread, ThreadRecord, ThreadStore } from '../store/threadStore.ts';
import { joinStream } from './runStreams.ts';
import { pickFields, wireThread } from './wire.ts';

/** Threads (contract 001, "Endpoints", and further routes of the public client). */
export function serveThreads(
  serve: Serve,
  {
    threads,
    states,
    removal,
    history,
  }: { threads: ThreadStore; states: ThreadStates; removal: ThreadRemoval; history: CheckpointHistory },
): void {
  serve(ENDPOINTS.createThread, async ({ body }) => {
    const thread: NewThread = {
      threadId: body.thread_id ?? randomUUID(),
      metadata: body.metadata ?? {},
      ifExists: body.if_exists ?? 'raise',
    };
    const { supersteps } = body;
    const hasStates = supersteps != null && supersteps.length > 0;
    return wireThread(await (hasStates ? states.createThread(thread, supersteps) : threads.create(thread)));
  });
  serve(ENDPOINTS.searchThreads, async ({ body }, c) => {
    const found = await threads.search({ ...body, limit: body.limit + 1 });
    if (found.length > body.limit) c.header('x-pagination-next', String(body.offset + body.limit));
    return found.slice(0, body.limit).map((thread) => projectThread(thread, body));
  });
  serve(ENDPOINTS.countThreads, async ({ body }) => threads.count(body));
  serve(ENDPOINTS.pruneThreads, async ({ body }) => ({
    pruned_count: await removal.prune(body.thread_ids, body.strategy),
  }));
  serve(ENDPOINTS.getThread, async ({ params }) => wireThread(await threads.get(params.thread_id)));
  serve(ENDPOINTS.patchThread, async ({ params, body }, c) => {
    const patched = await threads.patchMetadata(params.thread_id, body.metadata ?? {});
    return RETURN_MINIMAL.test(c.req.header('prefer') ?? '') ? c.body(null, 204) : wireThread(patched);
  });
  serve(ENDPOINTS.deleteThread, ({ params }) => removal.remove(params.thread_id));
  serve(ENDPOINTS.copyThread, async ({ params }) => {
    const { copyId, wasBusy } = await history.copy(params.thread_id);
    if (wasBusy) await states.refresh(copyId);
    return wireThread(await threads.get(copyId));
  });
}

/** Whether a list of preferences (RFC 7240) asks for an answer without the thread. */
const RETURN_MINIMAL = /(?:^|,)\s*return\s*=\s*"?minimal"?\s*(?:$|[,;])/iu;

/** A thread as a search returns it: the selected fields and the extracted values. */
function projectThread(
  thread: ThreadRecord,
  search: Pick<ThreadSearch, 'select' | 'extract'>,
): Record<string, unknown> {
  const whole = { ...wireThread(thread), state_updated_at: thread.updated_at };
  const shown = pickFields(whole, search.select);
  if (search.extract == null) return shown;
  const extracted = Object.entries(search.extract).map(([name, path]) => [name, valueAt(whole, path)]);
  return { ...shown, extracted: Object.fromEntries(extracted) as Record<string, unknown> };
}

/** The value at a path like `values.messages[-1].content`; null if there is none. */
function valueAt(root: unknown, path: string): unknown {
  const parts = path.replace(/^\$\.?/u, '').match(/[^.[\]]+|\[-?\d+\]/gu) ?? [];
  let value = root;
  for (const part of parts) {
    const index = /^\[(-?\d+)\]$/u.exec(part)?.[1];
    if (index !== undefined)
      value = Array.isArray(value) ? (value as unknown[]).at(Number(index)) : undefined;
    else if (typeof value === 'object' && value !== null && Object.hasOwn(value, part))
      value = (value as Record<string, unknown>)[part];
    else return null;
  }
  return value ?? null;
}

/** The states of threads (contract 001, "Endpoints", and further routes of the public client). */
export function serveThreadStates(serve: Serve, threads: ThreadStore, states: ThreadStates): void {
  serve(ENDPOINTS.getThreadState, async ({ params, query }, c) =>
    jsonText(c, await states.get(params.thread_id, {}, query.subgraphs)),
  );
  serve(ENDPOINTS.getThreadStateAt, async ({ params, query }, c) =>
    jsonText(c, await states.get(params.thread_id, params, query.subgraphs)),
  );
  // Unlike other fields that are all optional, those of the next two need a body.
  serve({ ...ENDPOINTS.findThreadState, request: undefined }, async ({ params }, c) => {
    const { checkpoint, subgraphs } = await parseBody(StateSearch, c);
    return jsonText(c, await states.get(params.thread_id, checkpoint ?? {}, subgraphs ?? false));
  });
  serve({ ...ENDPOINTS.updateThreadState, request: undefined }, async ({ params }, c) => {
    const body = await parseBody(StateUpdate, c);
    return states.update(params.thread_id, {
      values: body.values,
      asNode: body.as_node ?? undefined,
      checkpoint_ns: body.checkpoint?.checkpoint_ns,
      checkpoint_id: body.checkpoint_id ?? body.checkpoint?.checkpoint_id,
    });
  });
  // The public client's `patchState` changes the thread's metadata.
  serve(ENDPOINTS.patchThreadState, ({ params, body }) =>
    threads.patchMetadata(params.thread_id, body.metadata ?? {}),
  );
  serve(ENDPOINTS.listThreadHistory, async ({ params, query }, c) =>
    jsonText(c, await states.history(params.thread_id, query)),
  );
  serve(ENDPOINTS.getThreadHistory, async ({ params, body }, c) => {
    const history = await states.history(params.thread_id, {
      limit: body.limit,
      before: checkpointIdIn(body.before),
      checkpoint_ns: body.checkpoint?.checkpoint_ns,
      metadata: body.metadata ?? undefined,
    });
    return jsonText(c, history);
  });
}

function jsonText(c: Context, json: string): Response {
  return c.body(json, 200, { 'content-type': 'application/json' });
}

/** `before` is a checkpoint's id, a checkpoint, or a configuration that holds one. */
function checkpointIdIn(before: HistoryQuery['before']): string | undefined {
  if (before == null || typeof before === 'string') return before ?? undefined;
  const configurable = (before['configurable'] ?? before) as Record<string, unknown>;
  const id = configurable['checkpoint_id'];
  return typeof id === 'string' ? id.toLowerCase() : undefined;
}

/** The stream of a thread (public client: `threads.joinStream`): the output of its runs until the reader leaves. */
export function serveThreadStream(
  serve: Serve,
  parts: {
    threads: ThreadStore;
    runs: RunStore;
    states: ThreadStates;
    events: EventStore;
    service: RunService;
    changes: ChangePoller;
  },
): void {
  serve(ENDPOINTS.joinThreadStream, async ({ params, query }, c) => {
    const stream = new ThreadStream(await createThreadSource(params.thread_id), query.stream_mode);
    try {
      await stream.start(c.req.header('last-event-id'));
    } catch (error) {
      stream.close();
      throw error;
    }
    const { pathname, search } = new URL(c.req.url);
    return eventStreamResponse(c, stream, {
      headers: { location: `${pathname}${search}` },
      onDisconnect: () => undefined,
    });
  });

  async function createThreadSource(threadId: string): Promise<ThreadSource> {
    const { threads, runs, service, events, states } = parts;
    const versionNow = async () => (await threads.versions([threadId])).get(threadId);
    let version = await versionNow();
    if (version === undefined) throw threadNotFound(threadId);
    return {
      onNewRun: (hearer) => {
        service.newRuns.on(threadId, hearer);
        return () => service.newRuns.off(threadId, hearer);
      },
      newestSequence: async () => {
        const [run] = await runs.list(threadId, { limit: 1, offset: 0 });
        return BigInt(run?.sequence ?? 0);
      },
      activeRuns: () => runs.activeRuns(threadId),
      runsAfter: (sequence) => runs.runsAfter(threadId, sequence),
      openRunStream: (run, lastEventId) =>
        joinStream({ service, events }, run, { lastEventId, modes: undefined }),
      waitForChange: async (signal) => {
        await parts.changes.waitFor(threadVersionKey(threadId, version), signal);
        version = await versionNow();
        return version !== undefined;
      },
      readState: async () => {
        const state = await states.get(threadId, {}, false).catch(async (error: unknown) => {
          if ((await versionNow()) !== undefined) throw error;
          return undefined;
        });
        if (state === undefined) return undefined;
        const { checkpoint_id: checkpointId } = JSON.parse(state) as { checkpoint_id: unknown };
        return { json: `{"state":${state},"thread_id":${JSON.stringify(threadId)}}`, checkpointId };
      },
    };
  }
}
