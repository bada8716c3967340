import type { ValidationIssue } from '@slipway/contract/httpErrors';
import { removeSecrets } from './removeSecrets.ts';
import type { ServiceErrorCode } from './serviceError.ts';

const DETAIL_MAX_CHARACTERS = 1000;
const ISSUES_MAX = 50;

/**
 * The service's own words from the body of an error: `detail` as the contracts have it, or the `message` or `error` of
 * services that have none. Issues keep `loc`, `msg` and `type` only, because some services repeat the whole input in
 * them. Secrets that the request carried are removed wherever they stand.
 */
export function errorDetail(
  body: string | undefined,
  secrets: readonly string[],
): string | ValidationIssue[] | undefined {
  const detail = body === undefined ? undefined : detailOf(body);
  if (Array.isArray(detail)) {
    const issues = detail.slice(0, ISSUES_MAX).flatMap((issue) => toIssue(issue, secrets));
    return issues.length === 0 ? undefined : issues;
  }
  return typeof detail === 'string' && detail !== '' ? clean(detail, secrets) : undefined;
}

/** The detail in one line, for a message. */
export function describeDetail(detail: string | ValidationIssue[] | undefined): string {
  if (detail === undefined) return '';
  if (typeof detail === 'string') return detail;
  return detail.map(({ loc, msg }) => (loc.length === 0 ? msg : `${loc.join('.')}: ${msg}`)).join('; ');
}

/**
 * The texts of a request's body that must never come back in an error: everything under a `value` (secrets, variables
 * of containers) and under `configurable` and `context`, where callers of runs put their keys.
 */
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

function detailOf(body: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    // A proxy's page, or nothing: the status has to speak for itself.
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { detail, message, error } = value as Record<string, unknown>;
  return detail ?? message ?? error;
}

function toIssue(issue: unknown, secrets: readonly string[]): ValidationIssue[] {
  if (typeof issue !== 'object' || issue === null) return [];
  const { loc, msg, type } = issue as Record<string, unknown>;
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

/** The longest wait that is believed, in milliseconds: a day. */
const LONGEST_MS = 86_400_000;

/**
 * `Retry-After` in milliseconds from now, in both its forms: seconds, or an HTTP date. A date is measured against the
 * answer's own `Date` where it has one, so that two clocks that disagree do no harm. `undefined` for anything else.
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

/** A date in the form that HTTP prescribes; looser ones are left, since `Date.parse` takes almost any text. */
function httpDate(text: string): number | undefined {
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/u.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** What an answer without success means: the code, whether the request may have been taken, and what to do. */
interface StatusMeaning {
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
