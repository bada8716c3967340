import type { WorkflowExecutionInfo } from '@temporalio/client';

import type { TemporalConnection } from './connection.ts';
import { temporalError } from './temporalError.ts';

/** The limit for one list, in milliseconds. */
const LIST_TIMEOUT_MS = 10_000;

/** The list filter for the running workflows of some types. */
export function runningQuery(types: readonly string[]): string {
  return `WorkflowType IN (${types.map((type) => `'${type}'`).join(', ')}) AND ExecutionStatus = 'Running'`;
}

/**
 * The running workflows of a type. Temporal's list is up to a few seconds late. Needs no worker.
 * @param read - what to list of each; `undefined` leaves it out.
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function listRunning<T>(
  { client, settings }: TemporalConnection,
  type: string,
  read: (workflow: WorkflowExecutionInfo) => T | undefined,
): Promise<T[]> {
  try {
    return await client.withDeadline(Date.now() + LIST_TIMEOUT_MS, async () => {
      const found: T[] = [];
      for await (const workflow of client.workflow.list({ query: runningQuery([type]) })) {
        const item = read(workflow);
        if (item !== undefined) found.push(item);
      }
      return found;
    });
  } catch (error) {
    throw temporalError(error, settings);
  }
}
