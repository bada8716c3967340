import { SEARCH_ATTRIBUTES } from '../domain/searchAttributes.ts';
import { type TargetSpec, targetWorkflowId } from '../domain/targetSpec.ts';

/**
 * How long a worker may take for one workflow task before another worker gets it, in milliseconds. It bounds what a
 * worker costs that is killed in the middle of one (Temporal's default is 10 s), and a restarted worker takes the better
 * part of it to start. A task takes milliseconds; rebuilding a target's history about half a millisecond of processor
 * time for each event, which is under a second for a run of the usual length, even with 1,000 signals in it. Where a
 * machine is too slow for it all the same, the server itself allows more from the fourth attempt on.
 */
export const WORKFLOW_TASK_TIMEOUT_MS = 3_000;

/**
 * The options under which a target's workflow is started, by the first message that is sent to it.
 *
 * @param recordStore - where the target keeps what it must not lose.
 */
export function targetStart(target: TargetSpec, recordStore: string, taskQueue: string) {
  return {
    ...targetRun(targetWorkflowId(target), target.name, taskQueue),
    args: [{ recordStore }] as [{ readonly recordStore: string }],
    staticSummary: `target ${target.name}: ${target.deployment}`,
  };
}

/** The options of every run of a target, also of one that only knows its workflow id. */
export function targetRun(workflowId: string, name: string, taskQueue: string) {
  return {
    workflowId,
    taskQueue,
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    typedSearchAttributes: [
      { key: { name: SEARCH_ATTRIBUTES.target, type: 'KEYWORD' as const }, value: name },
    ],
  };
}
