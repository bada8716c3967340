import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';

import { HttpProblem } from './problem.ts';

/** A source of a stream's events. */
export interface EventReader {
  /**
   * The next event's bytes; `undefined` at the end. One call at a time.
   * @throws the error that broke off the stream.
   */
  next(): Promise<Uint8Array | undefined>;
  /** Bytes in memory that wait for this reader, if it has a queue. */
  readonly queuedBytes?: number;
  /** Called when the reader has left: nothing is kept for it. */
  close(): void;
}

/** A reader of the events that a generator makes until the signal is aborted, which closing the reader does. */
export function readGenerated(
  generate: (signal: AbortSignal) => AsyncGenerator<Uint8Array, void>,
): EventReader {
  const closing = new AbortController();
  const events = generate(closing.signal);
  return {
    next: async () => {
      const { value } = await events.next();
      return closing.signal.aborted ? undefined : (value ?? undefined);
    },
    close: () => closing.abort(),
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const LINE_END = 10;

/** Encodes an event for the wire. `data` is JSON, which has no raw line breaks. */
export function encodeEvent(event: string, data: string, id?: number | string): Uint8Array {
  const idLine = id === undefined ? '' : `id: ${id}\n`;
  return encoder.encode(`event: ${event}\n${idLine}data: ${data}\n\n`);
}

export function eventNameOf(frame: Uint8Array): string {
  return decoder.decode(frame.subarray('event: '.length, frame.indexOf(LINE_END)));
}

/** An encoded event with an id that `rename` makes from its own; one without an id stays unchanged. */
export function withId(frame: Uint8Array, rename: (id: string) => string): Uint8Array {
  const nameEnd = frame.indexOf(LINE_END) + 1;
  const idEnd = frame.indexOf(LINE_END, nameEnd) + 1;
  const idLine = decoder.decode(frame.subarray(nameEnd, idEnd));
  const id = /^id: (.*)\n$/.exec(idLine)?.[1];
  if (id === undefined) return frame;
  return Buffer.concat([
    frame.subarray(0, nameEnd),
    encoder.encode(`id: ${rename(id)}\n`),
    frame.subarray(idEnd),
  ]);
}

/** Silence after which a stream carries a keep-alive, in milliseconds: proxies close silent ones. */
const KEEP_ALIVE_MS = 15_000;

const HEARTBEAT = encoder.encode(': heartbeat\n\n');
const BLANK = encoder.encode('\n');

export interface LongAnswerOptions {
  /** Called once if the client disconnects before the end. */
  readonly onDisconnect: () => void;
  readonly headers?: Record<string, string>;
  /** Default {@link KEEP_ALIVE_MS}. */
  readonly keepAliveMs?: number;
}

/** A response with server-sent events (contract 001, "Events"), read no faster than the client reads. */
export function eventStreamResponse(c: Context, reader: EventReader, options: LongAnswerOptions): Response {
  let keepAlive: NodeJS.Timeout;
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        keepAlive = repeatWhileSilent(controller, HEARTBEAT, options);
      },
      pull: async (controller) => {
        try {
          const frame = await reader.next();
          keepAlive.refresh();
          if (frame !== undefined) {
            controller.enqueue(frame);
            return;
          }
          controller.close();
        } catch (error) {
          breakOff(c, controller, error);
        }
        clearInterval(keepAlive);
      },
      cancel: () => {
        clearInterval(keepAlive);
        reader.close();
        options.onDisconnect();
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      ...options.headers,
    },
  });
}

/**
 * Ends an answer that has begun so that the client notices the missing rest. The HTTP server prints an error of the
 * stream, so a problem, which is no failure of ours, only closes the connection.
 */
function breakOff(c: Context, controller: ReadableStreamDefaultController, error: unknown): void {
  if (error instanceof HttpProblem) {
    (c.env as HttpBindings).outgoing.destroy();
    controller.close();
  } else controller.error(error);
}

/** Sends bytes that mean nothing, again and again, if the client has read everything before them. */
function repeatWhileSilent(
  controller: ReadableStreamDefaultController<Uint8Array>,
  bytes: Uint8Array,
  { keepAliveMs = KEEP_ALIVE_MS }: LongAnswerOptions,
): NodeJS.Timeout {
  return setInterval(() => {
    if ((controller.desiredSize ?? 0) > 0) controller.enqueue(bytes);
    // A stream that nobody reads, as for a HEAD, must not keep its process alive.
  }, keepAliveMs).unref();
}

/**
 * A JSON response that may take as long as a run. It sends the headers at once, and then blank lines (which JSON
 * ignores), so that neither the client nor a proxy times out. `json` resolves to the body.
 */
export function longJsonResponse(c: Context, json: Promise<string>, options: LongAnswerOptions): Response {
  let keepAlive: NodeJS.Timeout;
  let gone = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      // The first byte sends the headers, which include the run's address.
      controller.enqueue(BLANK);
      keepAlive = repeatWhileSilent(controller, BLANK, options);
      json.then(
        (text) => {
          clearInterval(keepAlive);
          if (gone) return;
          controller.enqueue(encoder.encode(text));
          controller.close();
        },
        (error: unknown) => {
          clearInterval(keepAlive);
          if (!gone) breakOff(c, controller, error);
        },
      );
    },
    cancel: () => {
      gone = true;
      clearInterval(keepAlive);
      options.onDisconnect();
    },
  });
  return new Response(body, {
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...options.headers },
  });
}
