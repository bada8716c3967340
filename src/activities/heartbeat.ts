import { Context } from '@temporalio/activity';

import { scrubText } from './scrub.ts';

/** Several times within the steps' heartbeat deadlines (10 s), since the SDK itself holds some of them back. */
const HEARTBEAT_MS = 2_000;

/** What the next heartbeats of each attempt carry. */
const PROGRESS = new WeakMap<Context, unknown>();

/**
 * Carries out an attempt under a heartbeat, if its step has a deadline for silence. Heartbeats run beside the attempt's
 * calls, never between them: a service that is slow to answer is not taken for a worker that has died.
 */
export async function beating<T>(attempt: () => Promise<T>): Promise<T> {
  const context = Context.current();
  if (context.info.heartbeatTimeoutMs === undefined) return attempt();
  const beat = setInterval(() => context.heartbeat(PROGRESS.get(context)), HEARTBEAT_MS);
  try {
    return await attempt();
  } finally {
    clearInterval(beat);
  }
}

/** Says how far the attempt is: now, and with each heartbeat until something else is said. */
export function reportProgress(progress: unknown): void {
  const context = Context.current();
  const said = typeof progress === 'string' ? scrubText(progress) : progress;
  PROGRESS.set(context, said);
  if (context.info.heartbeatTimeoutMs !== undefined) context.heartbeat(said);
}
