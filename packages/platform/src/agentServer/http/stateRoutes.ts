import { Hono } from 'hono';

import {
  HistoryQuery,
  HistoryUrl,
  StatePath,
  StateQuery,
  StateSearch,
  StateUpdate,
  ThreadPatch,
  ThreadPath,
} from '@slipway/contract/runApi/thread';
import { parseBody, parseOptionalBody, parsePath, parseQuery } from '../../http/parse.ts';
import type { ThreadStates } from '../graphs/threadStates.ts';
import type { ThreadStore } from '../store/threadStore.ts';
import { storable } from './storable.ts';

/** The states of threads (contract 001, "Endpoints", and what the public client uses beside). */
export function stateRoutes(options: { threads: ThreadStore; states: ThreadStates }): Hono {
  const { threads, states } = options;
  const app = new Hono();

  app.get('/threads/:thread_id/state', async (c) => {
    const { thread_id: threadId } = parsePath(ThreadPath, c);
    const { subgraphs } = parseQuery(StateQuery, c);
    return c.body(await states.get(threadId, {}, subgraphs), 200, JSON_TYPE);
  });

  app.get('/threads/:thread_id/state/:checkpoint_id', async (c) => {
    const { thread_id: threadId, checkpoint_id } = parsePath(StatePath, c);
    const { subgraphs } = parseQuery(StateQuery, c);
    return c.body(await states.get(threadId, { checkpoint_id }, subgraphs), 200, JSON_TYPE);
  });

  app.post('/threads/:thread_id/state/checkpoint', async (c) => {
    const { thread_id: threadId } = parsePath(ThreadPath, c);
    const { checkpoint, subgraphs } = await parseBody(StateSearch, c);
    return c.body(await states.get(threadId, checkpoint ?? {}, subgraphs ?? false), 200, JSON_TYPE);
  });

  app.post('/threads/:thread_id/state', async (c) => {
    const { thread_id: threadId } = parsePath(ThreadPath, c);
    const body = await parseBody(StateUpdate, c);
    const updated = await states.update(threadId, {
      values: body.values,
      asNode: body.as_node ?? undefined,
      checkpoint_ns: body.checkpoint?.checkpoint_ns,
      checkpoint_id: body.checkpoint_id ?? body.checkpoint?.checkpoint_id,
    });
    return c.json(updated);
  });

  // The public client's `patchState`: it means the thread's metadata.
  app.patch('/threads/:thread_id/state', async (c) => {
    const { thread_id: threadId } = parsePath(ThreadPath, c);
    const { metadata } = await parseBody(ThreadPatch, c);
    await threads.patchMetadata(threadId, storable(metadata ?? {}, 'metadata'));
    return c.body(null, 204);
  });

  app.get('/threads/:thread_id/history', async (c) => {
    const { thread_id: threadId } = parsePath(ThreadPath, c);
    return c.body(await states.history(threadId, parseQuery(HistoryUrl, c)), 200, JSON_TYPE);
  });

  app.post('/threads/:thread_id/history', async (c) => {
    const { thread_id: threadId } = parsePath(ThreadPath, c);
    const body = await parseOptionalBody(HistoryQuery, c);
    const json = await states.history(threadId, {
      limit: body.limit,
      before: checkpointIdIn(body.before),
      checkpoint_ns: body.checkpoint?.checkpoint_ns,
      metadata: body.metadata == null ? undefined : storable(body.metadata, 'metadata'),
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
