import type { WorkflowExecutionInfo } from '@temporalio/client';

import { type TemporalConnection, callTemporal } from './connection.ts';

const LIST_TIMEOUT_MS = 10_000;

/**
 * The running workflows of some types, page by page. Temporal's list is up to a few seconds late. Needs no worker.
 * @param taskQueue - only those of this task queue. Default: of all.
 */
export function eachRunning(
  { client }: Pick<TemporalConnection, 'client'>,
  types: readonly string[],
  taskQueue?: string,
): AsyncIterable<WorkflowExecutionInfo> {
  const ofTypes = `WorkflowType IN (${types.map((type) => `'${type}'`).join(', ')})`;
  const ofQueue = taskQueue === undefined ? '' : ` AND TaskQueue = ${JSON.stringify(taskQueue)}`;
  return client.workflow.list({ query: `${ofTypes} AND ExecutionStatus = 'Running'${ofQueue}` });
}

/**
 * What is listed of the running workflows of a type. See {@link eachRunning}.
 * @param read - what to list of each; `undefined` leaves it out.
 */
export function listRunning<T>(
  temporal: TemporalConnection,
  type: string,
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
