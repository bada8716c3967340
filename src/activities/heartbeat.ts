import { Context } from '@temporalio/activity';

import { cutText } from '../domain/bounds.ts';
import { type Heartbeat, readHeartbeat } from '../domain/heartbeat.ts';
import { scrubText } from './scrub.ts';

/** Several times within the steps' heartbeat deadlines (10 s), since the SDK itself holds some of them back. */
const HEARTBEAT_MS = 2_000;

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
  const beat = setInterval(() => context.heartbeat(lastSaid(context)), HEARTBEAT_MS);
  try {
    return await attempt();
  } finally {
    clearInterval(beat);
  }
}

/** Says how far the attempt is: now, and with each heartbeat until it says something else. */
export function reportProgress(says: string): void {
  const context = Context.current();
  const text = cutText(scrubText(says), SAYS_MAX_BYTES);
  const before = lastSaid(context);
  const said = before?.says === text ? before : { says: text, since: new Date().toISOString() };
  SAID.set(context, said);
  if (context.info.heartbeatTimeoutMs !== undefined) context.heartbeat(said);
}

/** An attempt goes on with what the one before it said last. */
function lastSaid(context: Context): Heartbeat | undefined {
  return SAID.get(context) ?? readHeartbeat(context.info.heartbeatDetails);
}
