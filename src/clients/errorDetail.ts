import type { ValidationIssue } from '@slipway/contract/httpErrors';
import type { z } from 'zod';

import { isRecord, parsedJson } from '../domain/scalars.ts';
import { removeSecrets } from './removeSecrets.ts';

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
