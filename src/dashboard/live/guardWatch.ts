import type { GuardPolicy } from '../../domain/guard/guardPolicy.ts';
import type { Guarding } from '../../domain/guard/guarding.ts';
import type { TemporalConnection } from '../../temporal/client/connection.ts';
import { type GuardWatched, readGuardPolicy, watchGuard } from '../../temporal/client/guard/guardClient.ts';
import { pause } from '../../temporal/client/pause.ts';

/** How often a running guard is read, in milliseconds. Its heartbeats add no event to a history. */
const READ_EVERY_MS = 5_000;
const CALL_TIMEOUT_MS = 5_000;

export interface GuardOnPage extends GuardWatched {
  readonly workflowId: string;
  /** `undefined`: Temporal does not have it any longer. */
  readonly policy: GuardPolicy | undefined;
}

/**
 * Watches a target's guard until it ends: reads from Temporal what it measures, and calls `onRead` each time.
 * @returns a function that takes the guard of the target's newest state.
 */
export function guardWatch(
  temporal: TemporalConnection,
  onRead: (guard: GuardOnPage) => void,
  signal: AbortSignal,
): (guarding: Guarding | undefined) => void {
  let newest: Guarding | undefined;
  let watchedId: string | undefined;
  const watch = async (workflowId: string): Promise<void> => {
    let read: GuardOnPage | undefined;
    while (!signal.aborted && newest?.workflowId === workflowId) {
      let isOver = newest.ended !== undefined;
      try {
        const [policy, watched] = await temporal.client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
          Promise.all([
            read?.policy ?? readGuardPolicy(temporal, workflowId),
            isOver
              ? { says: null, measured: read?.measured ?? null, report: null }
              : watchGuard(temporal, workflowId),
          ]),
        );
        read = { workflowId, policy, ...watched };
        onRead(read);
        isOver ||= read.report !== null;
        if (isOver) return;
      } catch {
        // Read again. If Temporal does not answer, the target's snapshot shows it.
      }
      await pause(READ_EVERY_MS, signal);
    }
  };
  return (guarding) => {
    newest = guarding;
    if (guarding === undefined || guarding.workflowId === watchedId) return;
    watchedId = guarding.workflowId;
    void watch(guarding.workflowId);
  };
}
