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
 * Watches a target's guard until its target knows its end: reads from Temporal what it measures, and calls `onRead` each
 * time.
 * @returns a function that takes the guard of the target's newest state.
 */
export function guardWatch(
  temporal: TemporalConnection,
  onRead: (guard: GuardOnPage) => void,
  signal: AbortSignal,
): (guarding: Guarding | undefined) => void {
  let newest: Guarding | undefined;
  let watched: Guarding | undefined;
  const watch = async (guarding: Guarding): Promise<void> => {
    const { workflowId } = guarding;
    let read: GuardOnPage | undefined;
    while (!signal.aborted && newest !== undefined && isSame(newest, guarding)) {
      const isOver = newest.ended !== undefined;
      try {
        const [policy, seen] = await temporal.client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
          Promise.all([
            read?.policy ?? readGuardPolicy(temporal, workflowId),
            isOver
              ? { says: null, measured: read?.measured ?? null, report: null }
              : watchGuard(temporal, workflowId),
          ]),
        );
        read = { workflowId, policy, ...seen };
        onRead(read);
        // A report alone is no end: a guard that begins again has not started yet, or its target may still learn of it.
        if (isOver) return;
      } catch {
        // Read again. If Temporal does not answer, the target's snapshot shows it.
      }
      await pause(READ_EVERY_MS, signal);
    }
  };
  return (guarding) => {
    newest = guarding;
    if (guarding === undefined || (watched !== undefined && isSame(guarding, watched))) return;
    watched = guarding;
    void watch(guarding);
  };
}

/** A guard that begins again has the same workflow id, and a later end. */
function isSame(one: Guarding, other: Guarding): boolean {
  return one.workflowId === other.workflowId && one.until === other.until;
}
