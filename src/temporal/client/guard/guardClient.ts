import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';

import { type GuardPolicy, guardWorkflowId } from '../../../domain/guard/guardPolicy.ts';
import type { GuardReport } from '../../../domain/guard/guarding.ts';
import type { Measured } from '../../../domain/guard/measurement.ts';
import { readHeartbeat, type RunningCall } from '../../../domain/heartbeat.ts';
import { type Instant, isRecord } from '../../../domain/scalars.ts';
import type { GuardInput, GuardResult } from '../../../messages/workflowTypes.ts';
import { fetchFirstInput } from '../../history/fetchHistories.ts';
import type { TemporalConnection } from '../connection.ts';
import { heartbeatsOf, runningCallOf } from '../release/pastReleases.ts';
import { temporalError } from '../temporalError.ts';

export interface GuardWatched {
  /** What it measured last, in a line. `null`: nothing yet. */
  readonly says: string | null;
  /** The same in numbers. `null`: nothing yet, or its worker is of an earlier version. */
  readonly measured: Measured | null;
}

/** What a guard measured last, from the heartbeats that Temporal keeps. Needs no worker. */
export async function readMeasured(
  { client, settings }: TemporalConnection,
  workflowId: string,
): Promise<GuardWatched> {
  const described = await client.workflow.getHandle(workflowId).describe();
  const [heartbeat] = await heartbeatsOf(settings, described);
  const details = heartbeat?.details;
  const known = isRecord(details) && isRecord(details['known']) ? details['known'] : {};
  return {
    says: readHeartbeat(details)?.says ?? null,
    measured: (known['measured'] as Measured | undefined) ?? null,
  };
}

/**
 * What a guard compares with which limits. Needs no worker.
 * @returns `undefined` if Temporal does not have the guard any longer.
 */
export async function readGuardPolicy(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<GuardPolicy | undefined> {
  const first = await fetchFirstInput(temporal, workflowId);
  return (first?.input as GuardInput | undefined)?.policy;
}

/** The guard of a release, as Temporal keeps it. */
export interface GuardSeen {
  readonly until: Instant;
  /** What it measured last. `null`: nothing yet, or it has ended. */
  readonly measured: RunningCall | null;
  /** How it ended. `null`: it goes on, or was terminated. */
  readonly report: GuardReport | null;
}

/**
 * Reads the guard of a release from Temporal. Needs no worker.
 * @returns `undefined` if there is none, or Temporal does not have it any longer.
 */
export async function readGuard(
  temporal: TemporalConnection,
  targetId: string,
  releaseId: string,
): Promise<GuardSeen | undefined> {
  const workflowId = guardWorkflowId(targetId, releaseId);
  const first = await fetchFirstInput(temporal, workflowId);
  if (first === undefined) return undefined;
  const until = new Date((first.input as GuardInput).until).toISOString();
  const handle = temporal.client.workflow.getHandle(workflowId);
  try {
    const described = await handle.describe();
    if (described.status.name === 'RUNNING') {
      const measured = (await runningCallOf(temporal.settings, described)) ?? null;
      return { until, measured, report: null };
    }
    const { report } = (await handle.result()) as GuardResult;
    return { until, measured: null, report };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    if (error instanceof WorkflowFailedError) return { until, measured: null, report: null };
    throw temporalError(error, temporal.settings);
  }
}
