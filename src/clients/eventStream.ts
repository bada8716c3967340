import { createParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';

import { parsedJson } from '../domain/scalars.ts';
import { type Exchange, single } from './exchange.ts';

/** One server-sent event. Its data is parsed JSON; null if there is none. */
export interface ServerEvent {
  /** The kind: a name of `contract/runApi/stream.ts`, perhaps with a `|namespace`. Default: `message`. */
  readonly event: string;
  readonly data: unknown;
  /** The id to resume after this event. */
  readonly id: string | undefined;
}

/**
 * An open stream of events. It can be iterated once. The next piece is read from the connection only after the events
 * before it were consumed, so a slow reader slows the service down instead of filling memory. Leaving the loop early
 * closes the connection, which the service sees as a disconnect.
 *
 * Iterating throws ServiceError NO_ANSWER if the connection is lost or silent for too long, and BAD_ANSWER if an
 * event is too large or not JSON.
 */
export interface EventStream extends AsyncIterable<ServerEvent> {
  /** The stream's run and its thread, if the service names them (`Content-Location`). */
  readonly runId: string | undefined;
  readonly threadId: string | undefined;
  /** The id of the last consumed event. */
  readonly lastEventId: string | undefined;
  /** Closes the connection. */
  close(): void;
}

/**
 * Opens an exchange as a stream of server-sent events (contract 001, "Events").
 * @param onOpen - called with the status once the stream has begun.
 * @throws ServiceError
 */
export async function openEventStream(
  exchange: Exchange,
  maxEventCharacters: number,
  onOpen: (status: number) => void = () => undefined,
): Promise<EventStream> {
  const { statusCode, headers, body } = await exchange.open();
  exchange.stopTimer();
  const type = single(headers['content-type']) ?? '';
  if (!/^text\/event-stream\b/iu.test(type)) throw exchange.badAnswer('no event stream');
  onOpen(statusCode);
  let lastEventId: string | undefined;
  return {
    ...runOfLocation(single(headers['content-location'])),
    get lastEventId() {
      return lastEventId;
    },
    close: () => exchange.close(),
    async *[Symbol.asyncIterator]() {
      for await (const event of readEvents(exchange, body, maxEventCharacters)) {
        lastEventId = event.id ?? lastEventId;
        yield event;
      }
    },
  };
}

/** The ids in a `Content-Location` of a run: `/threads/{thread_id}/runs/{run_id}`, or `/runs/{run_id}`. */
export function runOfLocation(location: string | undefined): {
  runId: string | undefined;
  threadId: string | undefined;
} {
  const match = /(?:\/threads\/(?<threadId>[^/?#]+))?\/runs\/(?<runId>[^/?#]+)/u.exec(location ?? '');
  return { runId: match?.groups?.['runId'], threadId: match?.groups?.['threadId'] };
}

async function* readEvents(
  exchange: Exchange,
  body: Dispatcher.ResponseData['body'],
  maxEventCharacters: number,
): AsyncGenerator<ServerEvent, void> {
  const ready: ServerEvent[] = [];
  let problem: Error | undefined;
  const tooLarge = (): void => {
    problem ??= exchange.badAnswer(`a stream with an event of more than ${maxEventCharacters} characters`);
  };
  const parser = createParser({
    // This limits incomplete events. `onEvent` limits those that arrive in one piece.
    maxBufferSize: maxEventCharacters,
    onEvent: ({ event, data, id }) => {
      if (data.length > maxEventCharacters) {
        tooLarge();
        return;
      }
      const parsed = data === '' ? null : parsedJson(data);
      if (parsed === undefined) problem ??= exchange.badAnswer('a stream with an event that is not JSON');
      else if (problem === undefined) ready.push({ event: event ?? 'message', data: parsed, id });
    },
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded') tooLarge();
    },
  });
  const decoder = new TextDecoder();
  try {
    for await (const chunk of piecesOf(exchange, body)) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      yield* ready.splice(0);
      if (problem !== undefined) throw problem;
    }
  } finally {
    exchange.close();
  }
}

/** The pieces of the body. Errors of the transport become ServiceErrors. */
async function* piecesOf(
  exchange: Exchange,
  body: Dispatcher.ResponseData['body'],
): AsyncGenerator<Uint8Array, void> {
  const pieces = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  for (;;) {
    let next: IteratorResult<Uint8Array>;
    try {
      next = await pieces.next();
    } catch (error) {
      throw exchange.failure(error);
    }
    if (next.done === true) return;
    yield next.value;
  }
}
