import { Hono } from 'hono';

import {
  ThreadCreate,
  ThreadPatch,
  ThreadPath,
  ThreadPrune,
  ThreadSearch,
} from '@slipway/contract/runApi/thread';
import { parseBody, parseOptionalBody, parsePath } from '../../http/parse.ts';
import type { ThreadStates } from '../graphs/threadStates.ts';
import type { ThreadRemoval } from '../runs/threadRemoval.ts';
import type { CheckpointHistory } from '../store/checkpointHistory.ts';
import type { ThreadRecord, ThreadStore } from '../store/threadStore.ts';
import { storable, storableIfGiven } from './storable.ts';
import { foundThread } from './threadView.ts';
import { wireThread } from './wire.ts';

/** Threads (contract 001, "Endpoints", and what the public client uses beside). */
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
      metadata: storable(body.metadata ?? {}, 'metadata'),
      ifExists: body.if_exists ?? 'raise',
    });
    if (body.supersteps == null || body.supersteps.length === 0) return c.json(wireThread(thread));
    try {
      await states.make(thread.thread_id, body.supersteps);
    } catch (error) {
      // A thread without the states that it was to have is none.
      await removal.remove(thread.thread_id);
      throw error;
    }
    return c.json(wireThread(await threads.get(thread.thread_id)));
  });

  app.post('/threads/search', async (c) => {
    const body = await parseOptionalBody(ThreadSearch, c);
    const found = await threads.search({ ...searchOf(body), limit: body.limit + 1 });
    if (found.length > body.limit) c.header('x-pagination-next', String(body.offset + body.limit));
    return c.json(found.slice(0, body.limit).map((thread) => foundThread(thread, body)));
  });

  app.post('/threads/count', async (c) => {
    return c.json(await threads.count(searchOf(await parseOptionalBody(ThreadSearch, c))));
  });

  app.post('/threads/prune', async (c) => {
    const { thread_ids: ids, strategy } = await parseBody(ThreadPrune, c);
    return c.json({ pruned_count: await removal.prune(ids, strategy) });
  });

  app.get('/threads/:thread_id', async (c) => {
    return c.json(wireThread(await threads.get(parsePath(ThreadPath, c).thread_id)));
  });

  app.patch('/threads/:thread_id', async (c) => {
    const { thread_id: threadId } = parsePath(ThreadPath, c);
    const { metadata } = await parseBody(ThreadPatch, c);
    const patched = await threads.patchMetadata(threadId, storable(metadata ?? {}, 'metadata'));
    return c.req.header('prefer') === 'return=minimal' ? c.body(null, 204) : c.json(wireThread(patched));
  });

  app.delete('/threads/:thread_id', async (c) => {
    await removal.remove(parsePath(ThreadPath, c).thread_id);
    return c.body(null, 204);
  });

  app.post('/threads/:thread_id/copy', async (c) => {
    const source = await threads.get(parsePath(ThreadPath, c).thread_id);
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

function searchOf(body: ThreadSearch) {
  const { sort_by: sortBy } = body;
  return {
    ids: body.ids ?? undefined,
    metadata: storableIfGiven(body.metadata, 'metadata'),
    values: storableIfGiven(body.values, 'values'),
    status: body.status ?? undefined,
    limit: body.limit,
    offset: body.offset,
    sortBy: sortBy === 'state_updated_at' ? 'updated_at' : (sortBy ?? 'created_at'),
    sortOrder: body.sort_order ?? 'desc',
  } as const;
}
