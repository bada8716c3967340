import type { EventReader } from './serverSentEvents.ts';

/** How long a stream may be silent before it carries a sign of life, in milliseconds: proxies cut silent ones. */
const KEEP_ALIVE_MS = 15_000;

const encoder = new TextEncoder();
const HEARTBEAT = encoder.encode(': heartbeat\n\n');
const BLANK = encoder.encode('\n');

/** Where a long answer's reader and its limits are told. */
export interface LongAnswerOptions {
  /** Called once when the client goes away before the end. */
  readonly onDisconnect: () => void;
  readonly headers?: Record<string, string>;
  /** Default {@link KEEP_ALIVE_MS}. */
  readonly keepAliveMs?: number;
}

/** Events as server-sent events (contract 001, "Events"), pulled no faster than the client reads. */
export function eventStreamResponse(reader: EventReader, options: LongAnswerOptions): Response {
  const keepAliveMs = options.keepAliveMs ?? KEEP_ALIVE_MS;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const frame = await reader.next(keepAliveMs);
        if (frame === undefined) controller.close();
        else controller.enqueue(frame === 'idle' ? HEARTBEAT : frame);
      },
      cancel: () => {
        reader.leave();
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
 * A JSON answer that may take as long as a run. Headers go out at once, and blank lines (which JSON ignores) while
 * there is nothing to say, so that neither the client nor a proxy gives up. `json` gives the text of the body.
 */
export function longJsonResponse(json: Promise<string>, options: LongAnswerOptions): Response {
  const keepAliveMs = options.keepAliveMs ?? KEEP_ALIVE_MS;
  let timer: NodeJS.Timeout | undefined;
  let gone = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      // The first byte sends the headers, and with them the run's address.
      controller.enqueue(BLANK);
      timer = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(BLANK);
      }, keepAliveMs);
      json.then(
        (text) => {
          clearInterval(timer);
          if (gone) return;
          controller.enqueue(encoder.encode(text));
          controller.close();
        },
        (error: unknown) => {
          clearInterval(timer);
          if (!gone) controller.error(error);
        },
      );
    },
    cancel: () => {
      gone = true;
      clearInterval(timer);
      options.onDisconnect();
    },
  });
  return new Response(body, {
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...options.headers },
  });
}
