import type { ContentfulStatusCode } from 'hono/utils/http-status';

import { type ErrorCode, SlipwayError, type SlipwayErrorOptions } from '../../domain/errors.ts';

export interface AccessRefusalOptions extends SlipwayErrorOptions {
  readonly signIn?: string;
  /** The reason that the person wrote in the form, which would be lost. */
  readonly written?: string;
  /** After how many seconds the person may try again. */
  readonly retryAfterSeconds?: number;
}

/** A request that the page refuses. The page's error handler shows its sentence, its code and its hint. */
export class AccessRefusal extends SlipwayError {
  readonly status: ContentfulStatusCode;
  readonly signIn: string | undefined;
  readonly written: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    status: ContentfulStatusCode,
    code: ErrorCode,
    message: string,
    { signIn, written, retryAfterSeconds, ...options }: AccessRefusalOptions,
  ) {
    super(code, message, options);
    this.name = 'AccessRefusal';
    this.status = status;
    this.signIn = signIn;
    this.written = written;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export function failed(message: string, hint = 'sign in again'): AccessRefusal {
  return new AccessRefusal(403, 'SLIPWAY_SIGN_IN_FAILED', message, { hint, signIn: '/sign-in' });
}
