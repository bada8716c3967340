import { Hono } from 'hono';

import { ThreadStreamQuery } from '@slipway/contract/runApi/stream';
import { ThreadPath } from '@slipway/contract/runApi/thread';
import { parsePath, parseQuery } from '../../http/parse.ts';
import { eventStreamResponse } from '../../http/serverSentEvents.ts';
import type { ThreadStates } from '../graphs/threadStates.ts';
import type { RunService } from '../runs/runService.ts';
import { type ThreadSight, ThreadStream } from '../runs/threadStream.ts';
import { asSeen, type Watch } from '../runs/watch.ts';
import type { EventStore } from '../store/eventStore.ts';
import type { RunRecords } from '../store/runRecords.ts';
import { threadNotFound } from '../store/runStore.ts';
import type { ThreadStore } from '../store/threadStore.ts';
import { joinStream } from './runStreams.ts';

/** What the stream of a thread works with. */
export interface ThreadStreamParts {
  readonly threads: ThreadStore;
  readonly records: RunRecords;
  readonly states: ThreadStates;
  readonly events: EventStore;
  readonly service: RunService;
  /** Waits until threads have changed. */
  readonly changes: Watch;
  readonly keepAliveMs?: number;
}

/** The stream of a thread (public client: `threads.joinStream`): the output of its runs, for as long as it is read. */
export function threadStreamRoutes(parts: ThreadStreamParts): Hono {
  const app = new Hono();

  app.get('/threads/:thread_id/stream', async (c) => {
    const { thread_id: threadId } = parsePath(ThreadPath, c);
    const { stream_mode: modes } = parseQuery(ThreadStreamQuery, c);
    const stream = new ThreadStream(await sightOf(threadId), modes);
    try {
      await stream.begin(c.req.header('last-event-id'));
    } catch (error) {
      stream.leave();
      throw error;
    }
    return eventStreamResponse(stream, { keepAliveMs: parts.keepAliveMs, onDisconnect: () => undefined });
  });

  return app;

  async function sightOf(threadId: string): Promise<ThreadSight> {
    const { threads, records, service, events, states } = parts;
    const versionNow = async () => (await threads.versions([threadId])).get(threadId);
    let version = await versionNow();
    if (version === undefined) throw threadNotFound(threadId);
    return {
      hear: (hearer) => service.newRuns.hear(threadId, hearer),
      newest: async () => {
        const [run] = await records.list(threadId, { limit: 1, offset: 0 });
        return BigInt(run?.sequence ?? 0);
      },
      active: () => records.activeOfThread(threadId),
      behind: (sequence) => records.behind(threadId, sequence),
      follow: (run, lastEventId) => joinStream({ service, events }, run, { lastEventId, modes: undefined }),
      changed: async (signal) => {
        await parts.changes.come(asSeen(threadId, version), signal);
        version = await versionNow();
        return version !== undefined;
      },
      state: async () => {
        const state = await states.get(threadId, {}, false);
        const { checkpoint_id: checkpointId } = JSON.parse(state) as { checkpoint_id: unknown };
        return { json: `{"state":${state},"thread_id":${JSON.stringify(threadId)}}`, checkpointId };
      },
    };
  }
}
