import type { ValidationIssue } from '@slipway/contract/httpErrors';

import { type ErrorCode, SlipwayError, type SlipwayErrorOptions } from '../domain/errors.ts';

/** The codes of a {@link ServiceError}. `docs/errors.md` has a section for each. */
export type ServiceErrorCode = Extract<
  ErrorCode,
  | 'SLIPWAY_UNREACHABLE'
  | 'SLIPWAY_NO_ANSWER'
  | 'SLIPWAY_BAD_ANSWER'
  | 'SLIPWAY_UNAUTHORIZED'
  | 'SLIPWAY_NOT_FOUND'
  | 'SLIPWAY_CONFLICT'
  | 'SLIPWAY_REFUSED'
  | 'SLIPWAY_RATE_LIMITED'
  | 'SLIPWAY_SERVICE_ERROR'
>;

export interface ServiceErrorOptions extends SlipwayErrorOptions {
  readonly method: string;
  /** The path of the URL, without the query. A part that is a credential is masked. */
  readonly path: string;
  readonly status?: number;
  readonly detail?: string | ValidationIssue[];
  readonly retryAfterMs?: number;
  readonly mayHaveBeenTaken: boolean;
  readonly aborted?: boolean;
}

/** A failed call to a service. It contains no request body and no secret. */
export class ServiceError extends SlipwayError {
  declare readonly code: ServiceErrorCode;
  readonly method: string;
  readonly path: string;
  /** The HTTP status, if there was an answer. */
  readonly status: number | undefined;
  /** The detail in the service's answer: a sentence, or the issues of a validation error. Secrets are removed. */
  readonly detail: string | ValidationIssue[] | undefined;
  /** How long the service asks to wait, in milliseconds from the answer (`Retry-After`). */
  readonly retryAfterMs: number | undefined;
  /** Whether the service may have applied the request. False only if it was not sent, or was refused (4xx). */
  readonly mayHaveBeenTaken: boolean;
  /** Whether the caller's signal ended the call. */
  readonly aborted: boolean;

  constructor(code: ServiceErrorCode, message: string, options: ServiceErrorOptions) {
    super(code, message, { ...options, hint: options.hint ?? HINTS[code] });
    this.name = 'ServiceError';
    this.method = options.method;
    this.path = options.path;
    this.status = options.status;
    this.detail = options.detail;
    this.retryAfterMs = options.retryAfterMs;
    this.mayHaveBeenTaken = options.mayHaveBeenTaken;
    this.aborted = options.aborted ?? false;
  }
}

/** Whether a service answers that it does not have a deployment: its 404 names it, unlike one for an unknown path. */
export function isDeploymentGone(error: unknown, deploymentId: string): boolean {
  if (!(error instanceof ServiceError) || error.status !== 404 || typeof error.detail !== 'string')
    return false;
  return error.detail.toLowerCase().includes(deploymentId.toLowerCase());
}

const HINTS: Readonly<Partial<Record<ServiceErrorCode, string>>> = {
  SLIPWAY_UNREACHABLE: 'Check the address, and whether the service runs there.',
  SLIPWAY_NO_ANSWER: 'Check whether the service works, then try again.',
  SLIPWAY_BAD_ANSWER: 'Check the address: a proxy or another service may have answered.',
  SLIPWAY_UNAUTHORIZED: 'Check the API key of this service: it is missing, wrong, or lacks a permission.',
  SLIPWAY_SERVICE_ERROR: 'Read the log of the service, then try again.',
};

/** The codes of error statuses from 400 to 499. Others are `SLIPWAY_REFUSED`. */
const REFUSALS: Readonly<Record<number, ServiceErrorCode>> = {
  401: 'SLIPWAY_UNAUTHORIZED',
  403: 'SLIPWAY_UNAUTHORIZED',
  404: 'SLIPWAY_NOT_FOUND',
  // The service or a proxy timed out waiting for the request: worth another attempt.
  408: 'SLIPWAY_SERVICE_ERROR',
  409: 'SLIPWAY_CONFLICT',
  410: 'SLIPWAY_NOT_FOUND',
  423: 'SLIPWAY_CONFLICT',
  429: 'SLIPWAY_RATE_LIMITED',
};

/**
 * Explains a status that is not 2xx. After a 4xx, the request was not applied. After a 5xx, it may have been, because
 * the failure may have come later. Redirects are not in the contracts and are never followed, because the key would
 * go to another place. After 307 and 308, the request was certainly not applied.
 */
export function meaningOfStatus(
  status: number,
): Pick<ServiceErrorOptions, 'mayHaveBeenTaken' | 'hint'> & { readonly code: ServiceErrorCode } {
  if (status >= 500) return { code: 'SLIPWAY_SERVICE_ERROR', mayHaveBeenTaken: true };
  if (status >= 400) return { code: REFUSALS[status] ?? 'SLIPWAY_REFUSED', mayHaveBeenTaken: false };
  return {
    code: 'SLIPWAY_BAD_ANSWER',
    mayHaveBeenTaken: status !== 307 && status !== 308,
    hint: 'Redirects are not followed: give the address that the service redirects to.',
  };
}

/** Whether a service answers that it has no such endpoint. A control plane may offer only the contract's. */
export function notOffered(error: unknown): boolean {
  return (
    error instanceof ServiceError && (error.status === 405 || error.status === 404 || error.status === 501)
  );
}

/** Whether a service did not answer, or only a gateway did without the service behind it. */
export function isSilence(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError)) return false;
  return error.status === undefined || [502, 503, 504].includes(error.status);
}

/** The longest wait to accept, in milliseconds: a day. */
const LONGEST_MS = 86_400_000;

/**
 * `Retry-After` in milliseconds from now, in both its forms: seconds, or an HTTP date. A date is compared with the
 * answer's own `Date` if it has one, so that the clocks need not agree. `undefined` for any other value.
 */
export function retryAfterMs(
  header: string | undefined,
  date: string | undefined,
  now: number = Date.now(),
): number | undefined {
  if (header === undefined) return undefined;
  const value = header.trim();
  if (/^\d{1,15}(?:\.\d{1,6})?$/u.test(value)) return Math.min(Math.ceil(Number(value) * 1000), LONGEST_MS);
  const until = httpDate(value);
  if (until === undefined) return undefined;
  return Math.min(Math.max(until - (httpDate(date ?? '') ?? now), 0), LONGEST_MS);
}

/** A date in the form that HTTP requires. Other forms are ignored, because `Date.parse` accepts almost any text. */
function httpDate(text: string): number | undefined {
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/u.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
