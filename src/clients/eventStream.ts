import type { Readable } from 'node:stream';

import { createParser } from 'eventsource-parser';

import { parsedJson } from '../domain/scalars.ts';
import { type Exchange, single } from './exchange.ts';

/** One server-sent event. Its data is parsed JSON; null if there is none. */
export interface ServerEvent {
  /** The kind: a name of `contract/runApi/stream.ts`, perhaps with a `|namespace`. Default: `message`. */
  readonly event: string;
  readonly data: unknown;
}

/**
 * An open stream of events. It can be iterated once. The next piece is read from the connection only after the events
 * before it were consumed, so a slow reader slows the service down instead of filling memory. Leaving the loop early
 * closes the connection, which the service sees as a disconnect.
 *
 * Iterating throws ServiceError NO_ANSWER if the connection is lost, and BAD_ANSWER if an event is too large or not
 * JSON.
 */
export type EventStream = AsyncIterable<ServerEvent>;

/**
 * Opens an exchange as a stream of server-sent events (contract 001, "Events").
 * @param onOpen - called with the status once the stream has begun.
 */
export async function openEventStream(
  exchange: Exchange,
  maxEventCharacters: number,
  onOpen: (status: number) => void,
): Promise<EventStream> {
  const { statusCode, headers, body } = await exchange.open();
  exchange.stopTimer();
  const type = single(headers['content-type']) ?? '';
  if (!/^text\/event-stream\b/iu.test(type)) throw exchange.badAnswer('no event stream');
  onOpen(statusCode);
  return readEvents(exchange, body, maxEventCharacters);
}

async function* readEvents(
  exchange: Exchange,
  body: Readable,
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
    onEvent: ({ event, data }) => {
      if (data.length > maxEventCharacters) {
        tooLarge();
        return;
      }
      const parsed = data === '' ? null : parsedJson(data);
      if (parsed === undefined) problem ??= exchange.badAnswer(NOT_JSON);
      else if (problem === undefined) ready.push({ event: event ?? 'message', data: parsed });
    },
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded') tooLarge();
    },
  });
  try {
    for await (const text of textsOf(exchange, body)) {
      parser.feed(text);
      yield* ready.splice(0);
      if (problem !== undefined) throw problem;
    }
    // Some services leave out the empty line after the last event. Half an event was lost with its connection.
    parser.feed('\n\n');
    if (problem !== undefined) throw exchange.incomplete('it ended within an event');
    yield* ready;
  } finally {
    exchange.close();
  }
}

const NOT_JSON = 'a stream with an event that is not JSON, or nested deeper than 1,000 levels';

async function* textsOf(exchange: Exchange, body: Readable): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let text = '';
  const pieces = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  for (;;) {
    let next: IteratorResult<Uint8Array>;
    try {
      next = await pieces.next();
    } catch (error) {
      throw exchange.failure(error);
    }
    if (next.done === true) break;
    text = decoder.decode(next.value, { stream: true });
    yield text;
  }
  // The parser waits for what follows a CR, which may be half of a line's end.
  if (text.endsWith('\r')) yield '\n';
}
