import { decode } from '../history/payloads.ts';
import type { TemporalConnection } from './connection.ts';
import { isGone, temporalError } from './temporalError.ts';

/**
 * What a workflow was started from: its first argument, from the first event of its history. `undefined`: there is no such
 * workflow.
 *
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function readStartInput(
  { connection, settings }: TemporalConnection,
  workflowId: string,
): Promise<unknown> {
  try {
    const { history } = await connection.workflowService.getWorkflowExecutionHistory({
      namespace: settings.namespace,
      execution: { workflowId },
      maximumPageSize: 1,
    });
    return decode(history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw temporalError(error, settings);
  }
}
