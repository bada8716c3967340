import type { ValidationIssue } from '@slipway/contract/httpErrors';
import type { z } from 'zod';

import { type ErrorCode, SlipwayError, type SlipwayErrorOptions } from '../domain/errors.ts';
import { isRecord, parsedJson } from '../domain/scalars.ts';
import { removeSecrets } from './removeSecrets.ts';

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

/** Whether a service answers that its address has changed for good. Other redirects may end, as those of a maintenance. */
export function hasMoved(error: unknown): error is ServiceError {
  return error instanceof ServiceError && (error.status === 301 || error.status === 308);
}

const UUID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/iu;

/** Whether no agent answered `GET /ok`: {@link isSilence}, or a gateway's 404, which has the deployment's id. */
export function isAgentAway(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError)) return false;
  const { status, detail } = error;
  return isSilence(error) || (status === 404 && typeof detail === 'string' && UUID.test(detail));
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

const DETAIL_MAX_CHARACTERS = 1000;
const ISSUES_MAX = 50;

/**
 * The detail in an error's body: `detail` as in the contracts, or the `message` or `error` of services without it.
 * Issues keep only `loc`, `msg` and `type`, because some services repeat the whole input in them. Secrets of the
 * request are removed everywhere.
 */
export function errorDetail(
  body: string | undefined,
  secrets: readonly string[],
): string | ValidationIssue[] | undefined {
  const detail = body === undefined ? undefined : detailOf(parsedJson(body));
  if (Array.isArray(detail)) {
    const issues = detail.slice(0, ISSUES_MAX).flatMap((issue) => toIssue(issue, secrets));
    return issues.length === 0 ? undefined : issues;
  }
  return typeof detail === 'string' && detail !== '' ? clean(detail, secrets) : undefined;
}

export function describeDetail(detail: string | ValidationIssue[] | undefined): string {
  if (detail === undefined) return '';
  if (typeof detail === 'string') return detail;
  return detail.map(({ loc, msg }) => (loc.length === 0 ? msg : `${loc.join('.')}: ${msg}`)).join('; ');
}

/** The first problems of an answer that has another form. */
export function describeProblems({ issues }: z.ZodError): string {
  return issues
    .slice(0, 3)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
    .join('; ');
}

/** The texts of a request that must never appear in an error: all under `value`, `configurable` and `context`. */
export function secretsOf(body: unknown): string[] {
  const found: string[] = [];
  const walk = (value: unknown, secret: boolean): void => {
    if (typeof value === 'string') {
      if (secret && value !== '') found.push(value);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) walk(inner, secret || SECRET_NAMES.has(name));
    }
  };
  walk(body, false);
  return found;
}

const SECRET_NAMES: ReadonlySet<string> = new Set(['value', 'configurable', 'context']);

/** The detail in a value, also if it is nested, as in `{error: {message}}`; of a proxy's page, or nothing, none. */
function detailOf(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { detail, message, error } = value;
  return detailOf(detail ?? message ?? error);
}

function toIssue(issue: unknown, secrets: readonly string[]): ValidationIssue[] {
  if (typeof issue === 'string') return [{ loc: [], msg: clean(issue, secrets), type: '' }];
  if (!isRecord(issue)) return [];
  const { loc, msg, type } = issue;
  const parts = Array.isArray(loc) ? (loc as unknown[]) : [];
  return [
    {
      loc: parts.flatMap((part): (string | number)[] => {
        if (typeof part === 'number') return [part];
        return typeof part === 'string' ? [clean(part, secrets)] : [];
      }),
      msg: typeof msg === 'string' ? clean(msg, secrets) : '',
      type: typeof type === 'string' ? clean(type, secrets) : '',
    },
  ];
}

function clean(text: string, secrets: readonly string[]): string {
  const scrubbed = removeSecrets(text, secrets).replace(/\s+/gu, ' ').trim();
  return scrubbed.length <= DETAIL_MAX_CHARACTERS ? scrubbed : `${scrubbed.slice(0, DETAIL_MAX_CHARACTERS)}…`;
}
