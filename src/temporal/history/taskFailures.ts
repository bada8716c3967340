import { QUERY_TOO_EARLY } from '../../messages/earlyQuery.ts';
import type { HistoryEvent } from './payloads.ts';

/** A workflow task that failed because the workflow's code threw, or does not fit its history. */
export interface FailedTask {
  readonly message: string;
  /** Whether no workflow task has been completed since. */
  readonly isLast: boolean;
}

/**
 * The workflow tasks that failed, oldest first. Tasks that were lost with their worker do not count, and neither do those
 * that a worker refuses to have them rebuilt (`taskBoundaries.ts`): the next worker takes them.
 *
 * @param events - oldest first.
 */
export function readFailedTasks(events: readonly HistoryEvent[]): readonly FailedTask[] {
  const lastCompleted = events.findLastIndex((event) => event.workflowTaskCompletedEventAttributes != null);
  return events.flatMap((event, index) => {
    const failed = event.workflowTaskFailedEventAttributes;
    if (failed == null || TAKEN_BACK.has(Number(failed.cause))) return [];
    const message = failed.failure?.message ?? `cause ${String(failed.cause)}`;
    return message.includes(QUERY_TOO_EARLY) ? [] : [{ message, isLast: index > lastCompleted }];
  });
}

/**
 * `temporal.api.enums.v1.WorkflowTaskFailedCause`, those that are no failure of the workflow's code: something arrived
 * while it was about to end (1, 31), or the server took the task back (13, 17, 18, 20).
 */
const TAKEN_BACK: ReadonlySet<number> = new Set([1, 13, 17, 18, 20, 31]);
