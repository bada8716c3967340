import { type Actor, type RollbackRequest } from './release.ts';

/**
 * Hand-written, zod-free readers of what arrives by raw signal (`temporal workflow signal`), which bypasses every
 * client and validator (design, rule 9). Each returns the message, or a sentence that says what is wrong with it.
 */

/** What a person may send as `rollback`; every field may be missing. */
export interface RollbackMessage {
  readonly requestId?: string;
  readonly to?: string;
  readonly who?: string;
  readonly from?: string;
  readonly reason?: string;
}

/** What a person may send as `hold` or `unhold`. */
export interface HoldMessage {
  readonly who?: string;
  readonly from?: string;
  readonly reason?: string;
}

/**
 * Says what is wrong with a request for a release, or `undefined` when it can be taken. The command sends only right
 * ones; this guards the target against whatever else is sent to it.
 */
export function releaseRequestProblem(raw: unknown): string | undefined {
  if (!isRecord(raw)) return 'the request is not an object';
  const missing = REQUEST_TEXTS.find((path) => typeof valueAt(raw, path) !== 'string');
  if (missing !== undefined) return `"${missing.join('.')}" is not text`;
  if (!Array.isArray(raw['checks']) || !raw['checks'].every(isCheck))
    return '"checks" is not a list of checks';
  if (!isRecord(raw['steps'])) return '"steps" is not an object';
  if (!Number.isFinite(raw['soakMs'])) return '"soakMs" is not a number';
  if (raw['queue'] !== 'latest' && raw['queue'] !== 'all') return '"queue" is neither "latest" nor "all"';
  return undefined;
}

const REQUEST_TEXTS = [
  ['requestKey'],
  ['target', 'name'],
  ['target', 'controlPlane'],
  ['target', 'deployment'],
  ['target', 'source'],
  ['target', 'apiKey', 'from'],
  ['artifact', 'kind'],
  ['recordStore'],
  ['requestedBy', 'who'],
  ['requestedBy', 'from'],
];

function isCheck(check: unknown): boolean {
  return (
    isRecord(check) &&
    typeof check['name'] === 'string' &&
    typeof check['assistant'] === 'string' &&
    isRecord(check['input']) &&
    isRecord(check['expect']) &&
    Number.isFinite(check['timeoutMs'])
  );
}

function valueAt(raw: Readonly<Record<string, unknown>>, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), raw);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const TEXT_MAX_CHARACTERS = 1_000;
const MESSAGE_FIELDS = ['requestId', 'to', 'who', 'from', 'reason'];

/**
 * Reads a rollback message. Nothing at all is a rollback without a name.
 *
 * @param fallbackId - the request's id where the message has none.
 */
export function readRollbackMessage(
  raw: unknown,
  origin: string,
  fallbackId: string,
): RollbackRequest | string {
  const fields = readTextFields(raw);
  if (typeof fields === 'string') return fields;
  const { requestId, to } = fields;
  return {
    requestId: requestId ?? fallbackId,
    ...(to === undefined ? {} : { to }),
    requestedBy: actor(fields, origin),
  };
}

/** Reads who asked for a hold, or for its end, and why. */
export function readHoldMessage(raw: unknown, origin: string): Actor | string {
  const fields = readTextFields(raw);
  return typeof fields === 'string' ? fields : actor(fields, origin);
}

function actor(fields: Readonly<Record<string, string>>, origin: string): Actor {
  const { who, from, reason } = fields;
  return { who: who ?? 'unknown', from: from ?? origin, ...(reason === undefined ? {} : { reason }) };
}

function readTextFields(raw: unknown): Readonly<Record<string, string>> | string {
  if (raw === undefined || raw === null) return {};
  if (!isRecord(raw)) return 'the message is not an object';
  const fields: Record<string, string> = {};
  for (const name of MESSAGE_FIELDS) {
    const value = raw[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') return `"${name}" is not text`;
    const text = value.trim();
    if (text.length > TEXT_MAX_CHARACTERS)
      return `"${name}" is longer than ${TEXT_MAX_CHARACTERS} characters`;
    if (text !== '') fields[name] = text;
  }
  return fields;
}
