import { Context } from '@temporalio/activity';

import { cutText } from '../domain/bounds.ts';
import { type Heartbeat, readHeartbeat } from '../domain/heartbeat.ts';
import { scrubText } from './scrub.ts';

/** Several times within the steps' heartbeat deadlines (10 s), since the SDK itself holds some of them back. */
const HEARTBEAT_MS = 2_000;

/** The first one comes sooner, for people who look. Most attempts have ended by then, and cost Temporal none. */
const FIRST_HEARTBEAT_MS = 500;

/** Of what a heartbeat says, as JSON. */
const SAYS_MAX_BYTES = 1_000;

/** What the next heartbeats of each attempt carry. */
const SAID = new WeakMap<Context, Heartbeat>();

/**
 * Carries out an attempt under a heartbeat, if its step has a deadline for silence. Heartbeats run beside the attempt's
 * calls, never between them: a service that is slow to answer is not taken for a worker that has died.
 */
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

/** Says how far the attempt is: with each heartbeat, until it says something else. */
export function noteProgress(says: string): void {
  const context = Context.current();
  const text = cutText(scrubText(says), SAYS_MAX_BYTES);
  const before = lastSaid(context);
  const said = before?.says === text ? before : { says: text, since: new Date().toISOString() };
  SAID.set(context, said);
}

/** Says it with a heartbeat now. */
export function reportProgress(says: string): void {
  noteProgress(says);
  const context = Context.current();
  if (context.info.heartbeatTimeoutMs !== undefined) context.heartbeat(lastSaid(context));
}

/** An attempt goes on with what the one before it said last. */
function lastSaid(context: Context): Heartbeat | undefined {
  return SAID.get(context) ?? readHeartbeat(context.info.heartbeatDetails);
}
