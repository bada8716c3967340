import { type Actor, reasonLine } from '../domain/actor.ts';
import { isRecord } from '../domain/scalars.ts';

/**
 * Hand-written readers of messages, which return the message or what is wrong with it. They check everything, because a
 * raw signal (`temporal workflow signal`) bypasses all clients and validators (design, rule 9).
 */

const TEXT_MAX_CHARACTERS = 1_000;
const MESSAGE_FIELDS = [
  'requestId',
  'to',
  'serving',
  'what',
  'release',
  'submission',
  'artifact',
  'trace',
  'who',
  'from',
  'reason',
  'identity',
  'guard',
];

/** Who sends a message, and why. */
export interface Sender {
  /** Messages with the same id are one message. Default: a new id. */
  readonly requestId?: string;
  readonly who?: string;
  readonly from?: string;
  readonly reason?: string;
}

/** The text fields of a message, trimmed, without empty ones; the reason as one line. Unknown fields are ignored. */
export function readTextFields(raw: unknown): Readonly<Record<string, string>> | string {
  if (raw === undefined || raw === null) return {};
  if (!isRecord(raw)) return 'the message is not an object';
  const fields: Record<string, string> = {};
  for (const name of MESSAGE_FIELDS) {
    const value = raw[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') return `"${name}" is not text`;
    const text = name === 'reason' ? reasonLine(value) : value.trim();
    if (text.length > TEXT_MAX_CHARACTERS)
      return `"${name}" is longer than ${TEXT_MAX_CHARACTERS} characters`;
    if (text !== '') fields[name] = text;
  }
  return fields;
}

/**
 * The sender of a message, and why it was sent.
 * @param origin - the `from` to use if the message has none.
 */
export function readActor(fields: Readonly<Record<string, string>>, origin: string): Actor {
  const { who, from, reason } = fields;
  return { who: who ?? 'unknown', from: from ?? origin, reason };
}

/** Reads who sends a message that says nothing else. */
export function readSender(raw: unknown, origin: string): Actor | string {
  const fields = readTextFields(raw);
  return typeof fields === 'string' ? fields : readActor(fields, origin);
}
