import { createHash } from 'node:crypto';

import { cutText, oneLine } from '../../domain/bounds.ts';
import { type HookEvent, TITLE_MAX_BYTES } from '../../domain/hooks/hookEvent.ts';

/** A request to a hook. */
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
  /** When it began, in any form that `Date` parses. Ignored if it does not parse. */
  readonly began?: unknown;
}

/** Makes an event: its id is a digest, and its title is one line of limited length. */
export function eventOf({ identity, moved, title, status = 'firing', began, fields }: EventParts): ReadEvent {
  const time = typeof began === 'string' ? Date.parse(began) : NaN;
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
