import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';

import { HttpProblem } from './problem.ts';

/** The most that a JSON body may have, in bytes, where nothing else is said: 1 MB. */
const JSON_BODY_MAX_BYTES = 1_048_576;

/** Of a body that is too large, what is read all the same before it is refused: so many bytes, for so long. */
const DISCARDED_MAX_BYTES = 64 * 1_048_576;
const DISCARDED_MAX_MS = 5_000;

/**
 * Middleware that answers 413 with `{detail}` when the body is larger than `maxBytes`, also without a length. A client
 * that is still sending when its connection ends never hears why, so a body that says its length is read to its end
 * first, where that is not too far, and thrown away.
 */
export function limitBody(maxBytes: number = JSON_BODY_MAX_BYTES): MiddlewareHandler {
  return bodyLimit({
    maxSize: maxBytes,
    onError: async (c) => {
      const { body } = c.req.raw;
      const length = Number(c.req.header('content-length'));
      if (body !== null && !body.locked && length <= DISCARDED_MAX_BYTES) await discard(body);
      // Whatever is left is not read, so the connection cannot serve another request.
      throw new HttpProblem(413, `The body is larger than ${maxBytes} bytes.`, {
        headers: { connection: 'close' },
      });
    },
  });
}

async function discard(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const timer = setTimeout(() => reader.releaseLock(), DISCARDED_MAX_MS);
  try {
    while (!(await reader.read()).done);
  } catch {
    // It takes too long, or the client has gone and nobody is left to be told.
  } finally {
    clearTimeout(timer);
  }
}
