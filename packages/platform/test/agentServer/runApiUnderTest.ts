/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-return -- answers are judged by what the tests expect of them */
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { createParser } from 'eventsource-parser';

/** A gate for the fixture's waiting node. Pass its path as `text`, and open it to let the run continue. */
export function gate(): { path: string; open: () => Promise<void> } {
  const path = join(tmpdir(), `slipway-gate-${crypto.randomUUID()}`);
  return { path, open: () => writeFile(path, '') };
}

/** The body of a run of one of the fixture agent's graphs. */
export const runOf = (graph: string, text: unknown) => ({ assistant_id: graph, input: { text } });
export const echo = (text = 'x') => runOf('echo', text);
/** Two steps. The second one waits: so many milliseconds, or at a {@link gate}. */
export const steps = (text: number | string = 0) => runOf('steps', String(text));
/** Does what the text says. */
export const odd = (text = 'x') => runOf('odd', text);

/** One event of a stream, parsed. */
export interface ReadEvent {
  readonly event: string;
  readonly data: any;
  readonly id: string | undefined;
}

/** The events of a server-sent event stream, in order. Comments have `event: ':'`. */
export async function* readEvents(response: Response): AsyncGenerator<ReadEvent> {
  const queue: ReadEvent[] = [];
  const parser = createParser({
    onEvent: ({ event, data, id }) => queue.push({ event: event ?? '', data: JSON.parse(data), id }),
    onComment: (comment) => queue.push({ event: ':', data: comment, id: undefined }),
  });
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* queue.splice(0);
  }
}

export async function collectEvents(response: Response): Promise<ReadEvent[]> {
  const events: ReadEvent[] = [];
  for await (const event of readEvents(response)) events.push(event);
  return events;
}

/** Waits until a condition holds, checking every 20 ms; fails after `withinMs`. */
export async function until<T>(
  look: () => Promise<T | undefined | false>,
  what: string,
  withinMs = 10_000,
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() > deadline)
      throw new Error(`It did not come about within ${withinMs / 1_000} s that ${what}.`);
    await delay(20);
  }
}

/** A small client of the Run API for tests and the comparison. Returns statuses and bodies unchanged. */
export function apiOf(url: string | (() => string), headers: Record<string, string> = {}) {
  const send = (
    method: string,
    path: string,
    body?: unknown,
    { headers: more, ...options }: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
  ) =>
    fetch(`${typeof url === 'string' ? url : url()}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers, ...more },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...options,
    });
  const json = async (method: string, path: string, body?: unknown): Promise<any> => {
    const response = await send(method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  return {
    send,
    json,
    thread: async (): Promise<string> =>
      ((await json('POST', '/threads', {})) as { thread_id: string }).thread_id,
    threadOf: (threadId: string) => json('GET', `/threads/${threadId}`),
    state: (threadId: string) => json('GET', `/threads/${threadId}/state`),
    runs: (threadId: string) => json('GET', `/threads/${threadId}/runs`),
    run: (threadId: string, runId: string) => json('GET', `/threads/${threadId}/runs/${runId}`),
    create: (threadId: string, body: object): Promise<{ run_id: string } & Record<string, any>> =>
      json('POST', `/threads/${threadId}/runs`, body),
    join: (threadId: string, runId: string) => json('GET', `/threads/${threadId}/runs/${runId}/join`),
    /** Creates a run and waits for its output. Without a thread, it is stateless. */
    wait: (threadId: string | undefined, body: object) =>
      json('POST', threadId === undefined ? '/runs/wait' : `/threads/${threadId}/runs/wait`, body),
    /** Cancels a run and waits for its end. Returns the answer's status. */
    cancel: async (threadId: string, runId: string, query = ''): Promise<number> =>
      (await send('POST', `/threads/${threadId}/runs/${runId}/cancel?wait=true${query}`)).status,
    untilStatus: (threadId: string, runId: string, status: string) =>
      until(async () => {
        const run = await json('GET', `/threads/${threadId}/runs/${runId}`);
        return run.status === status && run;
      }, `run ${runId} is ${status}`),
    untilLogged: (threadId: string, entries: number) =>
      until(async () => {
        const state = await json('GET', `/threads/${threadId}/state`);
        return (state.values.log?.length ?? 0) >= entries && state;
      }, `thread ${threadId} has ${entries} log entries`),
  };
}
