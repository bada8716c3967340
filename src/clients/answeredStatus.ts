import type { ServiceErrorCode } from './serviceError.ts';

/** What an answer without success means: the code, whether the request may have been taken, and what to do. */
export interface StatusMeaning {
  readonly code: ServiceErrorCode;
  readonly mayHaveBeenTaken: boolean;
  readonly hint?: string;
}

const KEY_HINT = 'Check the API key of this service: it is missing, wrong, or lacks a permission.';

const MEANINGS: Readonly<Record<number, StatusMeaning>> = {
  401: { code: 'SLIPWAY_UNAUTHORIZED', mayHaveBeenTaken: false, hint: KEY_HINT },
  403: { code: 'SLIPWAY_UNAUTHORIZED', mayHaveBeenTaken: false, hint: KEY_HINT },
  404: { code: 'SLIPWAY_NOT_FOUND', mayHaveBeenTaken: false },
  // The service, or a proxy, gave up waiting for the request itself: worth another attempt.
  408: { code: 'SLIPWAY_SERVICE_ERROR', mayHaveBeenTaken: false },
  409: { code: 'SLIPWAY_CONFLICT', mayHaveBeenTaken: false },
  410: { code: 'SLIPWAY_NOT_FOUND', mayHaveBeenTaken: false },
  423: { code: 'SLIPWAY_CONFLICT', mayHaveBeenTaken: false },
  429: { code: 'SLIPWAY_RATE_LIMITED', mayHaveBeenTaken: false },
};

/**
 * Reads a status that is not 2xx. A 4xx says that the request was not carried out. A 5xx does not: what failed may
 * have failed after the work was done. A redirect is nothing that the contracts know and is never followed (it
 * would take the key elsewhere); after 307 and 308 the request was surely not carried out.
 */
export function meaningOfStatus(status: number): StatusMeaning {
  const known = MEANINGS[status];
  if (known !== undefined) return known;
  if (status >= 500) return { code: 'SLIPWAY_SERVICE_ERROR', mayHaveBeenTaken: true };
  if (status >= 400) return { code: 'SLIPWAY_REFUSED', mayHaveBeenTaken: false };
  return {
    code: 'SLIPWAY_BAD_ANSWER',
    mayHaveBeenTaken: status !== 307 && status !== 308,
    hint: 'Redirects are not followed: give the address that the service redirects to.',
  };
}
