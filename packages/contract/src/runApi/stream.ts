import { z } from 'zod';

import { publicRunApi } from '../endpoint.ts';
import { oneOf, queryList } from '../scalars.ts';
import type { StreamMode } from './run.ts';

/**
 * The kinds of server-sent events (contract 001, "Events": `feedback`, `updates`, `messages`; the rest are "not
 * shown": the public servers send the modes' own names, `metadata` first, `error` on failure). Some servers close a
 * stream with `end`.
 */
export const EventName = oneOf([
  'metadata',
  'feedback',
  'values',
  'updates',
  'messages',
  'debug',
  'custom',
  'events',
  'state_update',
  'error',
  'end',
]);
export type EventName = z.infer<typeof EventName>;

/** The event name under which each mode streams. */
export const EVENT_OF_MODE = {
  values: 'values',
  updates: 'updates',
  'messages-tuple': 'messages',
  debug: 'debug',
  custom: 'custom',
  events: 'events',
} as const satisfies Record<StreamMode, EventName>;

/** The parts of an event's name: `updates|sub:<id>` has a subgraph's namespace, a plain name an empty one. */
export function parseEventName(event: string): { name: string; namespace: string[] } {
  const [name = '', ...namespace] = event.split('|');
  return { name, namespace };
}

/**
 * What the stream of a thread contains (public client: `threads.joinStream`): the streams of its runs, only their
 * beginnings and ends, or the thread's state when it has changed and no run executes.
 */
export const ThreadStreamMode = oneOf(['run_modes', 'lifecycle', 'state_update']);
export type ThreadStreamMode = z.infer<typeof ThreadStreamMode>;

/** The query of `GET /threads/{thread_id}/stream`: one mode or several. */
const ThreadStreamQuery = z.object({
  stream_mode: queryList(z.array(ThreadStreamMode).min(1)).default(['run_modes']),
});

/** A thread's stream (public client). */
export const STREAM_ENDPOINTS = {
  joinThreadStream: publicRunApi.get('/threads/{thread_id}/stream', 'stream', {
    query: ThreadStreamQuery,
    errors: [409],
  }),
} as const;
