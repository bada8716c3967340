import { SEARCH_ATTRIBUTES } from '../domain/searchAttributes.ts';
import { type TargetSpec, targetWorkflowId } from '../domain/target/targetSpec.ts';
import { WORKFLOW_TASK_TIMEOUT_MS } from './workflowTypes.ts';

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
