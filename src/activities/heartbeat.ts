import { Context } from '@temporalio/activity';

import { cutText } from '../domain/bounds.ts';
import { type Heartbeat, readHeartbeat } from '../domain/heartbeat.ts';
import { isRecord } from '../domain/scalars.ts';
import { scrubText } from './scrub.ts';

/** Several times within the steps' heartbeat timeouts (10 s), because the SDK throttles heartbeats. */
const HEARTBEAT_MS = 2_000;

/** The first heartbeat comes sooner, for people who watch, but after most attempts have ended. */
const FIRST_HEARTBEAT_MS = 500;

/** The longest heartbeat text, as JSON. */
const SAYS_MAX_BYTES = 1_000;

/** The details for the next heartbeats of each attempt. */
const SAID = new WeakMap<Context, Heartbeat & { readonly known?: unknown }>();

/** Runs an attempt, with heartbeats beside its calls if its step has a heartbeat timeout. */
export async function beating<T>(attempt: () => Promise<T>): Promise<T> {
  const context = Context.current();
  if (context.info.heartbeatTimeoutMs === undefined) return attempt();
  const beat = (): void => context.heartbeat(lastSaid(context));
  const first = setTimeout(beat, FIRST_HEARTBEAT_MS);
  const others = setInterval(beat, HEARTBEAT_MS);
  try {
    return await attempt();
  } finally {
    clearTimeout(first);
    clearInterval(others);
  }
}

/**
 * Sets the progress text that the next heartbeats carry.
 * @param known - the state with which the next attempt continues. Absent: it begins again.
 */
export function noteProgress(says: string, known?: unknown): void {
  const context = Context.current();
  const text = cutText(scrubText(says), SAYS_MAX_BYTES);
  const before = lastSaid(context);
  const since = before?.says === text ? before.since : new Date().toISOString();
  SAID.set(context, { says: text, since, known });
}

/** The state that the previous attempt reported; `undefined` if there is none. */
export function knownBefore(): unknown {
  const details: unknown = Context.current().info.heartbeatDetails;
  return isRecord(details) ? details['known'] : undefined;
}

/** The state that this attempt has reported last, or else the previous attempt; `undefined` if there is none. */
export function knownSoFar(): unknown {
  const said = SAID.get(Context.current());
  return said === undefined ? knownBefore() : said.known;
}

/** Sets the progress text, and sends a heartbeat now. */
export function reportProgress(says: string, known?: unknown): void {
  noteProgress(says, known);
  const context = Context.current();
  if (context.info.heartbeatTimeoutMs !== undefined) context.heartbeat(lastSaid(context));
}

/** A new attempt starts with the previous attempt's last details. */
function lastSaid(context: Context): Heartbeat | undefined {
  return SAID.get(context) ?? readHeartbeat(context.info.heartbeatDetails);
}
