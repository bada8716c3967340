import { createHash, createHmac } from 'node:crypto';

import { withOffset } from '@slipway/contract/moment';
import { sameSecret } from '@slipway/contract/sameSecret';

import { cutText, oneLine } from '../domain/bounds.ts';
import { type ErrorCode, SlipwayError, type SlipwayErrorOptions } from '../domain/errors.ts';
import { type HookEvent, TITLE_MAX_BYTES } from '../domain/hooks/hookEvent.ts';

export interface Received {
  /** The raw bytes, because the signature covers them. */
  readonly body: Uint8Array;
  readonly header: (name: string) => string | undefined;
}

/** An event with the fields that rules match. */
export interface ReadEvent extends HookEvent {
  readonly fields: Readonly<Record<string, unknown>>;
}

/** How one product signs its requests, and how their payloads are read. */
export interface Form {
  /**
   * Rejects forged requests, and replays of old ones.
   * @param now - milliseconds since 1970.
   * @throws HookRefusal SLIPWAY_HOOK_FORGED, SLIPWAY_HOOK_STALE (401).
   */
  authenticate(received: Received, secret: string, now: number): void;
  /** The events of a payload. @throws HookRefusal SLIPWAY_HOOK_PAYLOAD (400). */
  read(payload: Readonly<Record<string, unknown>>, received: Received): readonly ReadEvent[];
}

interface EventParts extends Pick<ReadEvent, 'fields'> {
  /** The parts that identify it among all events of the hook. */
  readonly identity: readonly (string | Uint8Array)[];
  /** The parts that identify what it moved. Absent: it moved nothing. */
  readonly moved?: readonly string[];
  readonly title: string;
  readonly status?: HookEvent['status'];
  /** When it began, in any form that `Date` parses; without an offset, in UTC. Ignored if it does not parse. */
  readonly began?: unknown;
}

/** Makes an event: its id is a digest, and its title is one line of limited length. */
export function eventOf({ identity, moved, title, status = 'firing', began, fields }: EventParts): ReadEvent {
  const time = typeof began === 'string' ? Date.parse(withOffset(began)) : NaN;
  return {
    id: digestOf(identity),
    moved: moved && digestOf(moved),
    title: cutText(oneLine(title), TITLE_MAX_BYTES),
    status,
    // Go's zero time, before 1970, means that there is none.
    began: time > 0 ? new Date(time).toISOString() : undefined,
    fields,
  };
}

const ID_CHARACTERS = 16;

function digestOf(parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('hex').slice(0, ID_CHARACTERS);
}

/** Largest difference between sender's and listener's clocks, in milliseconds. Older signatures are rejected. */
const SKEW_MAX_MS = 300_000;

/** The HMAC-SHA256 of texts and bytes, in hexadecimal. */
export function hmac(secret: string, ...parts: readonly (string | Uint8Array)[]): string {
  const made = createHmac('sha256', secret);
  for (const part of parts) made.update(part);
  return made.digest('hex');
}

/** Rejects a request without the secret as bearer token or as password of basic authentication. */
export function requireAuthorization({ header }: Received, secret: string): void {
  const given = header('authorization');
  if (given === undefined) throw forged('the request has no header Authorization');
  const [, scheme = '', credentials = ''] = /^(\S+) +(.*)$/su.exec(given) ?? [];
  const password = scheme.toLowerCase() === 'basic' ? passwordIn(credentials) : credentials;
  if (!sameSecret(password, secret)) throw forged('the token or password is not the hook’s');
}

function passwordIn(credentials: string): string {
  const text = Buffer.from(credentials, 'base64').toString();
  return text.slice(text.indexOf(':') + 1);
}

/**
 * Rejects a time too far in the past or future.
 * @param seconds - since 1970, as the header has it.
 * @throws HookRefusal SLIPWAY_HOOK_STALE (401).
 */
export function requireRecent(seconds: string, now: number): void {
  const differenceMs = Math.abs(now - Number(seconds) * 1_000);
  if (/^\d{1,12}$/u.test(seconds) && differenceMs <= SKEW_MAX_MS) return;
  const message = 'the signature was made too long ago, or by a clock that is wrong';
  throw new HookRefusal(401, 'SLIPWAY_HOOK_STALE', message, {
    hint: `the clocks may differ by ${SKEW_MAX_MS / 60_000} minutes`,
  });
}

export function forged(message: string): HookRefusal {
  return new HookRefusal(401, 'SLIPWAY_HOOK_FORGED', message, {
    hint: 'give the sender the secret that the hook names in slipway.yaml',
  });
}

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

export function wrongPayload(message: string): HookRefusal {
  return new HookRefusal(400, 'SLIPWAY_HOOK_PAYLOAD', message, { hint: 'docs/hooks.md has the forms' });
}
