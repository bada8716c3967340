import type { WorkflowExecutionInfo } from '@temporalio/client';

import { ID_PREFIXES, type WorkflowName } from '../../messages/workflowTypes.ts';
import { type TemporalConnection, callTemporal } from './connection.ts';

const LIST_TIMEOUT_MS = 10_000;

/**
 * The running workflows of some types, page by page. Temporal's list is up to a few seconds late. Needs no worker.
 * @param taskQueue - only those of this task queue. Default: of all.
 */
export function eachRunning(
  { client }: Pick<TemporalConnection, 'client'>,
  types: readonly WorkflowName[],
  taskQueue?: string,
): AsyncIterable<WorkflowExecutionInfo> {
  const ofQueue = taskQueue === undefined ? '' : ` AND TaskQueue = ${JSON.stringify(taskQueue)}`;
  return client.workflow.list({ query: `${ofTypes(types)} AND ExecutionStatus = 'Running'${ofQueue}` });
}

/** The query for Slipway's workflows of some types. */
export function ofTypes(types: readonly WorkflowName[]): string {
  const prefixes = [...new Set(types.map((type) => ID_PREFIXES[type]))];
  const named = types.map((type) => `'${type}'`).join(', ');
  const begun = prefixes.map((prefix) => `WorkflowId STARTS_WITH '${prefix}'`).join(' OR ');
  return `WorkflowType IN (${named}) AND (${begun})`;
}

/**
 * What is listed of the running workflows of a type. See {@link eachRunning}.
 * @param read - what to list of each; `undefined` leaves it out.
 */
export function listRunning<T>(
  temporal: TemporalConnection,
  type: WorkflowName,
  read: (workflow: WorkflowExecutionInfo) => T | undefined,
): Promise<T[]> {
  const list = async (): Promise<T[]> => {
    const found: T[] = [];
    for await (const workflow of eachRunning(temporal, [type])) {
      const item = read(workflow);
      if (item !== undefined) found.push(item);
    }
    return found;
  };
  return callTemporal(temporal, list, LIST_TIMEOUT_MS);
}
