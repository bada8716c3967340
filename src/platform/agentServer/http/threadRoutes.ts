import { Hono } from 'hono';
import { z } from 'zod';

import {
  HistoryQuery,
  StateUpdate,
  ThreadCreate,
  ThreadPatch,
  ThreadPath,
  ThreadSearch,
} from '../../../contract/runApi/thread.ts';
import { nonEmptyText, QueryBoolean, queryInteger, Uuid } from '../../../contract/scalars.ts';
import { parseBody, parseOptionalBody, parsePath, parseQuery } from '../../http/parse.ts';
import { type ThreadStates } from '../graphs/threadStates.ts';
import { type RunService } from '../runs/runService.ts';
import { type CheckpointStore } from '../store/checkpointStore.ts';
import { type RunStore } from '../store/runStore.ts';
import { type ThreadRecord, type ThreadStore } from '../store/threadStore.ts';
import { storable } from './storable.ts';
import { wireThread } from './wire.ts';

const StateQuery = z.object({ subgraphs: QueryBoolean.default(false) });
const StatePath = z.object({ thread_id: Uuid, checkpoint_id: nonEmptyText() });
const CheckpointBody = z.object({
  checkpoint: HistoryQuery.shape.checkpoint,
  subgraphs: z.boolean().nullish(),
});
const HistoryUrl = z.object({ limit: queryInteger(1, 1000).default(10), before: nonEmptyText().optional() });

/** Threads and their states (contract 001, "Endpoints", and what the public client uses beside). */
export function threadRoutes(options: {
  threads: ThreadStore;
  states: ThreadStates;
  runs: RunStore;
  service: RunService;
  checkpoints: CheckpointStore;
}): Hono {
  const { threads, states, runs, service, checkpoints } = options;
  const app = new Hono();

  app.post('/threads', async (c) => {
    const body = await parseOptionalBody(ThreadCreate, c);
    const thread = await threads.create({
      threadId: body.thread_id ?? undefined,
      metadata: storable(body.metadata ?? {}, 'metadata'),
      ifExists: body.if_exists ?? 'raise',
    });
    return c.json(wireThread(thread));
  });

  app.post('/threads/search', async (c) => {
    const found = await threads.search(searchOf(await parseOptionalBody(ThreadSearch, c)));
    return c.json(found.map(wireThread));
  });

  app.post('/threads/count', async (c) => {
    return c.json(await threads.count(searchOf(await parseOptionalBody(ThreadSearch, c))));
  });

  app.get('/threads/:thread_id', async (c) => {
    return c.json(wireThread(await threads.get(parsePath(ThreadPath, c).thread_id)));
  });

  app.patch('/threads/:thread_id', async (c) => {
    const { thread_id: threadId } = parsePath(ThreadPath, c);
    const { metadata } = await parseBody(ThreadPatch, c);
    return c.json(wireThread(await threads.patchMetadata(threadId, storable(metadata ?? {}, 'metadata'))));
  });

  app.delete('/threads/:thread_id', async (c) => {
    const { thread_id: threadId } = parsePath(ThreadPath, c);
    await threads.get(threadId);
    const active = await runs.activeOfThread(threadId);
    await service.cancel(active, 'interrupt');
    await Promise.all(active.map((run) => service.ending(run)));
    await threads.remove(threadId);
    await checkpoints.deleteThread(threadId);
    return c.body(null, 204);
  });

  app.post('/threads/:thread_id/copy', async (c) => {
    const source = await threads.get(parsePath(ThreadPath, c).thread_id);
    return c.json(wireThread(await copyOf(source)));
  });

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
    const { checkpoint, subgraphs } = await parseBody(CheckpointBody, c);
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
      ...(body.metadata != null && { metadata: body.metadata }),
    });
    return c.body(json, 200, JSON_TYPE);
  });

  return app;

  async function copyOf(source: ThreadRecord): Promise<ThreadRecord> {
    const copy = await threads.create({ metadata: source.metadata, ifExists: 'raise' });
    await checkpoints.copyThread(source.thread_id, copy.thread_id);
    const waiting = source.status === 'interrupted' ? 'interrupted' : 'idle';
    await threads.setState(copy.thread_id, {
      values: JSON.stringify(source.values),
      interrupts: JSON.stringify(source.interrupts),
      status: waiting,
    });
    return threads.get(copy.thread_id);
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };

function searchOf(body: ThreadSearch) {
  const { sort_by: sortBy } = body;
  return {
    ids: body.ids ?? undefined,
    metadata: body.metadata ?? undefined,
    values: body.values ?? undefined,
    status: body.status ?? undefined,
    limit: body.limit,
    offset: body.offset,
    sortBy: sortBy === 'state_updated_at' ? 'updated_at' : (sortBy ?? 'created_at'),
    sortOrder: body.sort_order ?? 'desc',
  } as const;
}

/** `before` is a checkpoint's id, a checkpoint, or a configuration that holds one. */
function checkpointIdIn(before: HistoryQuery['before']): string | undefined {
  if (before == null || typeof before === 'string') return before ?? undefined;
  const configurable = (before['configurable'] ?? before) as Record<string, unknown>;
  const id = configurable['checkpoint_id'];
  return typeof id === 'string' ? id : undefined;
}
