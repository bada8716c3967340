import { type ErrorCode, SlipwayError, type SlipwayErrorOptions } from '../domain/errors.ts';

/** A rejected delivery, with the HTTP status of the response. */
export class HookRefusal extends SlipwayError {
  readonly status: RefusalStatus;

  constructor(status: RefusalStatus, code: ErrorCode, message: string, options?: SlipwayErrorOptions) {
    super(code, message, options);
    this.name = 'HookRefusal';
    this.status = status;
  }
}

type RefusalStatus = 400 | 401 | 404 | 408 | 413 | 503;

/** The error for a payload that does not have the hook's form. */
export function wrongPayload(message: string): HookRefusal {
  return new HookRefusal(400, 'SLIPWAY_HOOK_PAYLOAD', message, { hint: 'docs/hooks.md has the forms' });
}
