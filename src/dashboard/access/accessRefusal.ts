import type { ContentfulStatusCode } from 'hono/utils/http-status';

import { type ErrorCode, SlipwayError, type SlipwayErrorOptions } from '../../domain/errors.ts';

export interface AccessRefusalOptions extends SlipwayErrorOptions {
  readonly signIn?: string;
  /** After how many seconds the person may try again. */
  readonly retryAfterSeconds?: number;
}

/** A request that the page refuses. The page's error handler shows its sentence, its code and its hint. */
export class AccessRefusal extends SlipwayError {
  readonly status: ContentfulStatusCode;
  readonly signIn: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    status: ContentfulStatusCode,
    code: ErrorCode,
    message: string,
    { signIn, retryAfterSeconds, ...options }: AccessRefusalOptions = {},
  ) {
    super(code, message, options);
    this.name = 'AccessRefusal';
    this.status = status;
    this.signIn = signIn;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
