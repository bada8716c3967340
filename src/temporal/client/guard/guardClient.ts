import {
  type WorkflowExecutionDescription,
  WorkflowFailedError,
  type WorkflowHandle,
} from '@temporalio/client';

import { type GuardPolicy, guardWorkflowId } from '../../../domain/guard/guardPolicy.ts';
import type { GuardReport } from '../../../domain/guard/guarding.ts';
import type { Measured } from '../../../domain/guard/measurement.ts';
import { readHeartbeat, type RunningCall } from '../../../domain/heartbeat.ts';
import { type Instant, isRecord } from '../../../domain/scalars.ts';
import type { GuardInput, GuardResult } from '../../../messages/workflowTypes.ts';
import { fetchFirstInput } from '../../history/fetchHistories.ts';
import { callOrNone, type TemporalConnection } from '../connection.ts';
import { pause } from '../pause.ts';
import { heartbeatsOf, runningCallOf } from '../release/pastReleases.ts';
import { isGone, isTemporalSilent } from '../temporalError.ts';

export interface GuardWatched {
  /** What it measured last, in a line. `null`: nothing yet. */
  readonly says: string | null;
  /** The same in numbers. `null`: nothing yet. */
  readonly measured: Measured | null;
  /** How it ended, which its target may not know. `null`: it goes on. */
  readonly report: GuardReport | null;
}

/** What a guard measured last, from the heartbeats that Temporal keeps, or how it ended. Needs no worker. */
export async function watchGuard(
  { client, settings }: TemporalConnection,
  workflowId: string,
): Promise<GuardWatched> {
  const handle = client.workflow.getHandle(workflowId);
  const described = await describeGuard(handle);
  if (described === undefined) return { says: null, measured: null, report: deleted(handle) };
  const [heartbeat] = await heartbeatsOf(settings, described);
  const details = heartbeat?.details;
  const known = isRecord(details) && isRecord(details['known']) ? details['known'] : {};
  return {
    says: readHeartbeat(details)?.says ?? null,
    measured: (known['measured'] as Measured | undefined) ?? null,
    report: await reportOf(handle, described),
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
  /** How it ended. `null`: it goes on. */
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
  const seen = first && (await seeGuard(temporal, workflowId));
  return seen && { until: new Date((first.input as GuardInput).until).toISOString(), ...seen };
}

/** The same, without its time. */
export function seeGuard(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<Omit<GuardSeen, 'until'> | undefined> {
  return callOrNone(
    temporal,
    isTemporalSilent,
    async () => {
      const handle = temporal.client.workflow.getHandle(workflowId);
      const described = await describeGuard(handle);
      if (described === undefined) return { measured: null, report: deleted(handle) };
      const report = await reportOf(handle, described);
      if (report !== null) return { measured: null, report };
      return { measured: (await runningCallOf(temporal.settings, described)) ?? null, report };
    },
    TIMEOUT_MS,
  );
}

const TIMEOUT_MS = 5_000;
/** A target shows its guard a moment before Temporal has started it. */
const STARTS_WITHIN_MS = 1_000;

/** @returns `undefined` if Temporal does not have the guard any longer. */
async function describeGuard(handle: WorkflowHandle): Promise<WorkflowExecutionDescription | undefined> {
  for (let again = false; ; again = true) {
    try {
      return await handle.describe();
    } catch (error) {
      if (!isGone(error)) throw error;
      if (again) return undefined;
      await pause(STARTS_WITHIN_MS, undefined);
    }
  }
}

/** A guard that a person ended with Temporal's own tools has told its target nothing. */
async function reportOf(
  handle: WorkflowHandle,
  { status, closeTime = new Date() }: WorkflowExecutionDescription,
): Promise<GuardReport | null> {
  if (status.name === 'RUNNING') return null;
  try {
    return ((await handle.result()) as GuardResult).report;
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    return unreported(
      handle,
      closeTime,
      `its workflow was ${status.name.toLowerCase().replaceAll('_', ' ')} in Temporal`,
    );
  }
}

function deleted(handle: WorkflowHandle): GuardReport {
  return unreported(handle, new Date(), 'its workflow was deleted in Temporal');
}

function unreported({ workflowId }: WorkflowHandle, at: Date, note: string): GuardReport {
  const releaseId = workflowId.slice(workflowId.lastIndexOf('/') + 1);
  return { releaseId, at: at.toISOString(), verdict: 'unknown', note };
}
