import { Context } from '@temporalio/activity';

/** Several times within the steps' heartbeat deadlines (10 s), since the SDK itself holds some of them back. */
const HEARTBEAT_MS = 2_000;

/**
 * Does work under a heartbeat, so that a service that is slow to answer is not taken for a worker that has died.
 *
 * @param progress - what each heartbeat carries.
 */
export async function withHeartbeat<T>(progress: () => unknown, work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(progress()), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
  }
}
