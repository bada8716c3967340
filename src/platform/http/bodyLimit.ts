import { type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';

import { HttpProblem } from './problem.ts';

/** The most that a JSON body may have, in bytes, where nothing else is said: 1 MB. */
export const JSON_BODY_MAX_BYTES = 1_048_576;

/** Middleware that answers 413 with `{detail}` when the body is larger than `maxBytes`, also without a length. */
export function limitBody(maxBytes: number = JSON_BODY_MAX_BYTES): MiddlewareHandler {
  return bodyLimit({
    maxSize: maxBytes,
    onError: () => {
      throw new HttpProblem(413, `The body is larger than ${maxBytes} bytes.`);
    },
  });
}
