import { WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { tsToDate } from '@temporalio/common/lib/time.js';

import type { TemporalConnection } from './connection.ts';
import { isTemporalSilent, temporalError } from './temporalError.ts';

/** What a step that polls found at its last look. */
export interface RunningCall {
  /** In words: `revision … is DEPLOYING`. */
  readonly says: string;
  /** When the step began: ISO 8601. */
  readonly since: string;
  /** When the step is given up: ISO 8601; `null`: it has no deadline. */
  readonly until: string | null;
}

/**
 * What the step under way found at its last look, by the heartbeats that Temporal keeps: no worker need answer.
 * `undefined` where nothing is polled.
 *
 * @param workflowId - the release's own.
 */
export async function readRunningCall(
  { client, settings }: TemporalConnection,
  workflowId: string,
): Promise<RunningCall | undefined> {
  try {
    const { raw } = await client.withDeadline(Date.now() + TIMEOUT_MS, () =>
      client.workflow.getHandle(workflowId).describe(),
    );
    for (const { heartbeatDetails, scheduledTime, expirationTime } of raw.pendingActivities ?? []) {
      const [payload] = heartbeatDetails?.payloads ?? [];
      if (payload === undefined || scheduledTime == null) continue;
      const says: unknown = defaultPayloadConverter.fromPayload(payload);
      if (typeof says !== 'string') continue;
      const until = expirationTime == null ? null : tsToDate(expirationTime).toISOString();
      return { says, since: tsToDate(scheduledTime).toISOString(), until };
    }
    return undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || isTemporalSilent(error)) return undefined;
    throw temporalError(error, settings);
  }
}

const TIMEOUT_MS = 5_000;
