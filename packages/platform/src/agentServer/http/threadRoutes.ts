import {
  HistoryQuery,
  HistoryUrl,
  StatePath,
  StateQuery,
  StateSearch,
  StateUpdate,
  ThreadCreate,
  ThreadPatch,
  ThreadPath,
  ThreadPrune,
  ThreadSearch,
} from '@slipway/contract/runApi/thread';

import { parseBody, parseOptionalBody, parsePath, parseQuery } from '../../http/parse.ts';
import type { ThreadRemoval } from '../runs/threadRemoval.ts';
import type { CheckpointHistory } from '../store/checkpointHistory.ts';
import type { ThreadRecord, ThreadStore } from '../store/threadStore.ts';
import { pickFields, requireStorable, requireStorableIfGiven, wireThread } from './wire.ts';
import { type Context, Hono } from 'hono';
import { ThreadStreamQuery } from '@slipway/contract/runApi/stream';
import { eventStreamResponse } from '../../http/serverSentEvents.ts';
import type { ThreadStates } from '../graphs/threadStates.ts';
import type { RunService } from '../runs/runService.ts';
import { type ThreadSource, ThreadStream } from '../runs/threadStream.ts';
import { threadVersionKey, type ChangePoller } from '../runs/changePoller.ts';
import type { EventStore } from '../store/eventStore.ts';
import type { RunRecords } from '../store/runRecords.ts';
import { threadNotFound } from '../store/runStore.ts';
import { joinStream } from './runStreams.ts';

/** Threads (contract 001, "Endpoints", and further routes of the public client). */
export function threadRoutes(options: {
  threads: ThreadStore;
  states: ThreadStates;
  removal: ThreadRemoval;
  history: CheckpointHistory;
}): Hono {
  const { threads, states, removal, history } = options;
  const app = new Hono();

  app.post('/threads', async (c) => {
    const body = await parseOptionalBody(ThreadCreate, c);
    const thread = await threads.create({
      threadId: body.thread_id ?? undefined,
      metadata: requireStorable(body.metadata ?? {}, 'metadata'),
      ifExists: body.if_exists ?? 'raise',
    });
    if (body.supersteps == null || body.supersteps.length === 0) return c.json(wireThread(thread));
    try {
      await states.createStates(thread.thread_id, body.supersteps);
    } catch (error) {
      // If its states cannot be made, the thread is removed.
      await removal.remove(thread.thread_id);
      throw error;
    }
    return c.json(wireThread(await threads.get(thread.thread_id)));
  });

  app.post('/threads/search', async (c) => {
    const body = await parseOptionalBody(ThreadSearch, c);
    const found = await threads.search({ ...searchOf(body), limit: body.limit + 1 });
    if (found.length > body.limit) c.header('x-pagination-next', String(body.offset + body.limit));
    return c.json(found.slice(0, body.limit).map((thread) => projectThread(thread, body)));
  });

  app.post('/threads/count', async (c) => {
    return c.json(await threads.count(searchOf(await parseOptionalBody(ThreadSearch, c))));
  });

  app.post('/threads/prune', async (c) => {
    const { thread_ids: ids, strategy } = await parseBody(ThreadPrune, c);
    return c.json({ pruned_count: await removal.prune(ids, strategy) });
  });

  app.get('/threads/:thread_id', async (c) => {
    return c.json(wireThread(await threads.get(threadIdOf(c))));
  });

  app.patch('/threads/:thread_id', async (c) => {
    const threadId = threadIdOf(c);
    const { metadata } = await parseBody(ThreadPatch, c);
    const patched = await threads.patchMetadata(threadId, requireStorable(metadata ?? {}, 'metadata'));
    return c.req.header('prefer') === 'return=minimal' ? c.body(null, 204) : c.json(wireThread(patched));
  });

  app.delete('/threads/:thread_id', async (c) => {
    await removal.remove(threadIdOf(c));
    return c.body(null, 204);
  });

  app.post('/threads/:thread_id/copy', async (c) => {
    const source = await threads.get(threadIdOf(c));
    return c.json(wireThread(await copyOf(source)));
  });

  return app;

  async function copyOf(source: ThreadRecord): Promise<ThreadRecord> {
    const copy = await threads.create({ metadata: source.metadata, ifExists: 'raise' });
    await history.copy(source.thread_id, copy.thread_id);
    const waiting = source.status === 'interrupted' ? 'interrupted' : 'idle';
    await threads.setState(copy.thread_id, {
      values: JSON.stringify(source.values),
      interrupts: JSON.stringify(source.interrupts),
      status: waiting,
    });
    return threads.get(copy.thread_id);
  }
}

function threadIdOf(c: Context): string {
  return parsePath(ThreadPath, c).thread_id;
}

function searchOf(body: ThreadSearch) {
  const { sort_by: sortBy } = body;
  return {
    ids: body.ids ?? undefined,
    metadata: requireStorableIfGiven(body.metadata, 'metadata'),
    values: requireStorableIfGiven(body.values, 'values'),
    status: body.status ?? undefined,
    limit: body.limit,
    offset: body.offset,
    sortBy: sortBy === 'state_updated_at' ? 'updated_at' : (sortBy ?? 'created_at'),
    sortOrder: body.sort_order ?? 'desc',
  } as const;
}

/** A thread as a search returns it: the selected fields and the extracted values. */
function projectThread(
  thread: ThreadRecord,
  search: Pick<ThreadSearch, 'select' | 'extract'>,
): Record<string, unknown> {
  const whole = { ...wireThread(thread), state_updated_at: thread.updated_at.toISOString() };
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
export function stateRoutes(options: { threads: ThreadStore; states: ThreadStates }): Hono {
  const { threads, states } = options;
  const app = new Hono();

  app.get('/threads/:thread_id/state', async (c) => {
    const threadId = threadIdOf(c);
    const { subgraphs } = parseQuery(StateQuery, c);
    return c.body(await states.get(threadId, {}, subgraphs), 200, JSON_TYPE);
  });

  app.get('/threads/:thread_id/state/:checkpoint_id', async (c) => {
    const { thread_id: threadId, checkpoint_id } = parsePath(StatePath, c);
    const { subgraphs } = parseQuery(StateQuery, c);
    return c.body(await states.get(threadId, { checkpoint_id }, subgraphs), 200, JSON_TYPE);
  });

  app.post('/threads/:thread_id/state/checkpoint', async (c) => {
    const threadId = threadIdOf(c);
    const { checkpoint, subgraphs } = await parseBody(StateSearch, c);
    return c.body(await states.get(threadId, checkpoint ?? {}, subgraphs ?? false), 200, JSON_TYPE);
  });

  app.post('/threads/:thread_id/state', async (c) => {
    const threadId = threadIdOf(c);
    const body = await parseBody(StateUpdate, c);
    const updated = await states.update(threadId, {
      values: body.values,
      asNode: body.as_node ?? undefined,
      checkpoint_ns: body.checkpoint?.checkpoint_ns,
      checkpoint_id: body.checkpoint_id ?? body.checkpoint?.checkpoint_id,
    });
    return c.json(updated);
  });

  // The public client's `patchState` changes the thread's metadata.
  app.patch('/threads/:thread_id/state', async (c) => {
    const threadId = threadIdOf(c);
    const { metadata } = await parseBody(ThreadPatch, c);
    await threads.patchMetadata(threadId, requireStorable(metadata ?? {}, 'metadata'));
    return c.body(null, 204);
  });

  app.get('/threads/:thread_id/history', async (c) => {
    const threadId = threadIdOf(c);
    return c.body(await states.history(threadId, parseQuery(HistoryUrl, c)), 200, JSON_TYPE);
  });

  app.post('/threads/:thread_id/history', async (c) => {
    const threadId = threadIdOf(c);
    const body = await parseOptionalBody(HistoryQuery, c);
    const json = await states.history(threadId, {
      limit: body.limit,
      before: checkpointIdIn(body.before),
      checkpoint_ns: body.checkpoint?.checkpoint_ns,
      metadata: body.metadata == null ? undefined : requireStorable(body.metadata, 'metadata'),
    });
    return c.body(json, 200, JSON_TYPE);
  });

  return app;
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** `before` is a checkpoint's id, a checkpoint, or a configuration that holds one. */
function checkpointIdIn(before: HistoryQuery['before']): string | undefined {
  if (before == null || typeof before === 'string') return before ?? undefined;
  const configurable = (before['configurable'] ?? before) as Record<string, unknown>;
  const id = configurable['checkpoint_id'];
  return typeof id === 'string' ? id : undefined;
}

interface ThreadStreamParts {
  readonly threads: ThreadStore;
  readonly records: RunRecords;
  readonly states: ThreadStates;
  readonly events: EventStore;
  readonly service: RunService;
  readonly changes: ChangePoller;
  readonly keepAliveMs?: number;
}

/** The stream of a thread (public client: `threads.joinStream`): the output of its runs until the reader leaves. */
export function threadStreamRoutes(parts: ThreadStreamParts): Hono {
  const app = new Hono();

  app.get('/threads/:thread_id/stream', async (c) => {
    const threadId = threadIdOf(c);
    const { stream_mode: modes } = parseQuery(ThreadStreamQuery, c);
    const stream = new ThreadStream(await createThreadSource(threadId), modes);
    try {
      await stream.start(c.req.header('last-event-id'));
    } catch (error) {
      stream.close();
      throw error;
    }
    return eventStreamResponse(stream, { keepAliveMs: parts.keepAliveMs, onDisconnect: () => undefined });
  });

  return app;

  async function createThreadSource(threadId: string): Promise<ThreadSource> {
    const { threads, records, service, events, states } = parts;
    const versionNow = async () => (await threads.versions([threadId])).get(threadId);
    let version = await versionNow();
    if (version === undefined) throw threadNotFound(threadId);
    return {
      onNewRun: (hearer) => {
        service.newRuns.on(threadId, hearer);
        return () => service.newRuns.off(threadId, hearer);
      },
      newestSequence: async () => {
        const [run] = await records.list(threadId, { limit: 1, offset: 0 });
        return BigInt(run?.sequence ?? 0);
      },
      activeRuns: () => records.activeRuns(threadId),
      runsAfter: (sequence) => records.runsAfter(threadId, sequence),
      openRunStream: (run, lastEventId) =>
        joinStream({ service, events }, run, { lastEventId, modes: undefined }),
      waitForChange: async (signal) => {
        await parts.changes.waitFor(threadVersionKey(threadId, version), signal);
        version = await versionNow();
        return version !== undefined;
      },
      readState: async () => {
        const state = await states.get(threadId, {}, false);
        const { checkpoint_id: checkpointId } = JSON.parse(state) as { checkpoint_id: unknown };
        return { json: `{"state":${state},"thread_id":${JSON.stringify(threadId)}}`, checkpointId };
      },
    };
  }
}
