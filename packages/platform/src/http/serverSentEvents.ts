/** A source of a stream's events. */
export interface EventReader {
  /**
   * The next event's bytes; `undefined` at the end; `'idle'` if nothing came for `idleMs`. One call at a time.
   * @throws the error that broke off the stream.
   */
  next(idleMs: number): Promise<Uint8Array | undefined | 'idle'>;
  /** Bytes in memory that wait for this reader, if it has a queue. */
  readonly queuedBytes?: number;
  /** Called when the reader has left: nothing is kept for it. */
  close(): void;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const LINE_END = 10;

/** Encodes an event for the wire. `data` is JSON, which has no raw line breaks. */
export function encodeEvent(event: string, data: string, id?: number | string): Uint8Array {
  const idLine = id === undefined ? '' : `id: ${id}\n`;
  return encoder.encode(`event: ${event}\n${idLine}data: ${data}\n\n`);
}

/** The name of an encoded event. */
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

/** Options of a long answer. */
export interface LongAnswerOptions {
  /** Called once if the client disconnects before the end. */
  readonly onDisconnect: () => void;
  readonly headers?: Record<string, string>;
  /** Default {@link KEEP_ALIVE_MS}. */
  readonly keepAliveMs?: number;
}

/** A response with server-sent events (contract 001, "Events"), read no faster than the client reads. */
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
 * A JSON response that may take as long as a run. It sends the headers at once, and then blank lines (which JSON
 * ignores), so that neither the client nor a proxy times out. `json` resolves to the body.
 */
export function longJsonResponse(json: Promise<string>, options: LongAnswerOptions): Response {
  const keepAliveMs = options.keepAliveMs ?? KEEP_ALIVE_MS;
  let timer: NodeJS.Timeout | undefined;
  let gone = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      // The first byte sends the headers, which include the run's address.
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
