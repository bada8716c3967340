import { type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { tsToDate } from '@temporalio/common/lib/time.js';

import { readHeartbeat, type RunningCall } from '../../../domain/heartbeat.ts';
import type { TemporalConnection } from '../connection.ts';
import { isTemporalSilent, temporalError } from '../temporalError.ts';

/** What Temporal says of a workflow: what of it holds the heartbeats. */
export type Described = Pick<WorkflowExecutionDescription, 'raw'>;

/**
 * What the step under way found last, by the heartbeats that Temporal keeps: no worker need answer. `undefined` if no
 * step says anything.
 *
 * @param workflowId - the release's own.
 */
export async function readRunningCall(
  { client, settings }: TemporalConnection,
  workflowId: string,
): Promise<RunningCall | undefined> {
  try {
    return runningCallOf(
      await client.withDeadline(Date.now() + TIMEOUT_MS, () =>
        client.workflow.getHandle(workflowId).describe(),
      ),
    );
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || isTemporalSilent(error)) return undefined;
    throw temporalError(error, settings);
  }
}

/** The same, of a workflow that was described already. */
export function runningCallOf({ raw }: Described): RunningCall | undefined {
  for (const { heartbeatDetails, expirationTime } of raw.pendingActivities ?? []) {
    const [payload] = heartbeatDetails?.payloads ?? [];
    const said =
      payload === undefined ? undefined : readHeartbeat(defaultPayloadConverter.fromPayload(payload));
    if (said === undefined) continue;
    return { ...said, until: expirationTime == null ? null : tsToDate(expirationTime).toISOString() };
  }
  return undefined;
}

const TIMEOUT_MS = 5_000;
