import { type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { tsToDate } from '@temporalio/common/lib/time.js';

import type { WorkFact } from '../../../domain/audit/facts.ts';
import type { SlipwayError } from '../../../domain/errors.ts';
import { readHeartbeat, type RunningCall } from '../../../domain/heartbeat.ts';
import { pastOfRow, pastOfWork, type PastRelease } from '../../../domain/release/pastRelease.ts';
import type { Instant } from '../../../domain/scalars.ts';
import type { TargetView } from '../../../messages/target.ts';
import { NO_KEYS } from '../../codec/payloadCipher.ts';
import { fetchHistories, fetchHistory } from '../../history/fetchHistories.ts';
import { readTargetFacts } from '../../history/readFacts.ts';
import { type TemporalConnection, callTemporal, callOrNone } from '../connection.ts';
import { isUnanswered, viewTarget } from '../target/targetClient.ts';
import { isTemporalSilent } from '../temporalError.ts';
import type { TemporalSettings } from '../temporalSettings.ts';

interface Past {
  readonly releases: readonly PastRelease[];
  /** Why the target did not answer: the releases come from histories, without unstarted ones. `null`: it did. */
  readonly unanswered: SlipwayError | null;
}

/**
 * The releases and rollbacks of a target, newest first, including the running one. They come from the target, or, if
 * it does not answer, from the histories that Temporal keeps.
 * @returns `undefined` if the target has never accepted a release.
 */
export async function pastReleases(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<Past | undefined> {
  let unanswered;
  try {
    const view = await viewTarget(temporal, workflowId);
    if (view === undefined) return undefined;
    return { releases: await releasesOf(temporal, view), unanswered: null };
  } catch (error) {
    if (!isUnanswered(error)) throw error;
    unanswered = error;
  }
  const { works } = readTargetFacts(workflowId, await fetchHistories(temporal, workflowId));
  return { releases: works.map(pastOfWork).reverse(), unanswered };
}

/** The releases and rollbacks that a target knows, newest first, including the running one. */
export async function releasesOf(
  temporal: TemporalConnection,
  { state, running }: TargetView,
): Promise<readonly PastRelease[]> {
  const work = running === null ? undefined : await findWork(temporal, running.workflowId);
  return [...(work === undefined ? [] : [pastOfWork(work)]), ...state.history.map(pastOfRow).reverse()];
}

/** One release or rollback, from its own history. @returns `undefined` if Temporal has none (any longer). */
export async function findWork(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<WorkFact | undefined> {
  const history = await callTemporal(temporal, () => fetchHistory(temporal, workflowId));
  if (history === undefined) return undefined;
  const targetId = workflowId.slice(0, workflowId.lastIndexOf('/'));
  return readTargetFacts(targetId, [{ workflowId, history }]).works[0];
}

type Described = Pick<WorkflowExecutionDescription, 'raw'>;

/**
 * What the running step found last, from the heartbeats that Temporal keeps. Needs no worker. `undefined` if no step
 * sends any.
 */
export async function readRunningCall(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<RunningCall | undefined> {
  const described = await callOrNone(
    temporal,
    (error) => error instanceof WorkflowNotFoundError || isTemporalSilent(error),
    () => temporal.client.workflow.getHandle(workflowId).describe(),
    TIMEOUT_MS,
  );
  return described && runningCallOf(temporal.settings, described);
}

/** The same for a workflow that was already described. A step that a person paused in Temporal waits for a person. */
export async function runningCallOf(
  settings: Pick<TemporalSettings, 'codec'>,
  described: Described,
): Promise<RunningCall | undefined> {
  const { pendingActivities, workflowExecutionInfo } = described.raw;
  for (const { activityId, pauseInfo, expirationTime } of pendingActivities ?? []) {
    const since = instantOf(pauseInfo?.pauseTime);
    if (since === null) continue;
    const where = `--workflow-id ${JSON.stringify(workflowExecutionInfo?.execution?.workflowId)}`;
    const says = `paused in Temporal; to continue: temporal activity unpause ${where} --activity-id ${activityId}`;
    return { says, since, until: instantOf(expirationTime) };
  }
  for (const { details, until } of await heartbeatsOf(settings, described)) {
    const said = readHeartbeat(details);
    if (said !== undefined) return { ...said, until };
  }
  return undefined;
}

/** The details of the last heartbeats of a described workflow's activities, and the deadlines of these activities. */
export function heartbeatsOf(
  { codec = NO_KEYS }: Pick<TemporalSettings, 'codec'>,
  { raw }: Described,
): Promise<readonly { readonly details: unknown; readonly until: Instant | null }[]> {
  return Promise.all(
    (raw.pendingActivities ?? []).map(async ({ heartbeatDetails, expirationTime }) => {
      const [payload] = await codec.decode(heartbeatDetails?.payloads ?? []);
      return {
        details: payload === undefined ? undefined : defaultPayloadConverter.fromPayload<unknown>(payload),
        until: instantOf(expirationTime),
      };
    }),
  );
}

function instantOf(time: Parameters<typeof tsToDate>[0] | null | undefined): Instant | null {
  return time == null ? null : tsToDate(time).toISOString();
}

const TIMEOUT_MS = 5_000;
