import { createHash } from 'node:crypto';

import { cutText } from '../../domain/bounds.ts';
import { type HookEvent, TITLE_MAX_BYTES } from '../../domain/hooks/hookEvent.ts';

/** A request to a hook. */
export interface Received {
  /** As it was signed. */
  readonly body: Uint8Array;
  readonly header: (name: string) => string | undefined;
}

/** An event with the fields that rules match. */
export interface ReadEvent extends HookEvent {
  readonly fields: Readonly<Record<string, unknown>>;
}

/** How one product signs what it sends, and what that says. */
export interface Form {
  /**
   * Refuses what the product did not send, and what is sent again later.
   *
   * @param now - milliseconds since 1970.
   * @throws HookRefusal SLIPWAY_HOOK_FORGED, SLIPWAY_HOOK_STALE (401).
   */
  authenticate(received: Received, secret: string, now: number): void;
  /**
   * The events of a payload.
   *
   * @throws HookRefusal SLIPWAY_HOOK_PAYLOAD (400).
   */
  read(payload: Readonly<Record<string, unknown>>, received: Received): readonly ReadEvent[];
}

/** What an event is made from. */
interface EventParts extends Pick<ReadEvent, 'fields'> {
  /** What distinguishes it from all others of the hook. */
  readonly identity: readonly (string | Uint8Array)[];
  readonly title: string;
  readonly status?: HookEvent['status'];
  /** When it began: any form that JavaScript reads. Ignored if it is none. */
  readonly began?: unknown;
}

/** Makes an event: its id is a digest, its title is cut. */
export function eventOf({ identity, title, status = 'firing', began, fields }: EventParts): ReadEvent {
  const hash = createHash('sha256');
  for (const part of identity) hash.update(`${part.length}:`).update(part);
  const time = typeof began === 'string' ? Date.parse(began) : NaN;
  return {
    id: hash.digest('hex').slice(0, ID_CHARACTERS),
    title: cutText(title, TITLE_MAX_BYTES),
    status,
    // Before 1970: the zero time of Go, which stands for none.
    ...(time > 0 ? { began: new Date(time).toISOString() } : {}),
    fields,
  };
}

const ID_CHARACTERS = 16;
