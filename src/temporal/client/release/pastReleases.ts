import { type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { tsToDate } from '@temporalio/common/lib/time.js';
import pLimit from 'p-limit';

import type { WorkFact } from '../../../domain/audit/facts.ts';
import type { SlipwayError } from '../../../domain/errors.ts';
import { readHeartbeat, type RunningCall } from '../../../domain/heartbeat.ts';
import { pastOfRow, pastOfWork, type PastRelease } from '../../../domain/release/pastRelease.ts';
import type { Instant } from '../../../domain/scalars.ts';
import type { TargetView } from '../../../messages/target.ts';
import { NO_KEYS } from '../../codec/payloadCipher.ts';
import { fetchHistories, fetchHistory } from '../../history/fetchHistories.ts';
import { readKeptTarget } from '../../history/keptTarget.ts';
import { readTargetFacts } from '../../history/readFacts.ts';
import { callOrNone, type TemporalConnection } from '../connection.ts';
import {
  isUnanswered,
  type ListedTarget,
  listTargets,
  queryTarget,
  viewTarget,
} from '../target/targetClient.ts';
import { ifSealed, isTemporalSilent } from '../temporalError.ts';
import type { TemporalSettings } from '../temporalSettings.ts';
import { requireWorker } from '../workerPresence.ts';

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
async function releasesOf(
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
  const history = await fetchHistory(temporal, workflowId);
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

export interface TargetHistory extends ListedTarget {
  readonly releases: readonly PastRelease[];
  /** Where the records of older releases are; `null` if there are none, or if that is not known. */
  readonly olderIn: string | null;
  /** Why the target did not answer: then the releases are the newest that Temporal keeps. `null`: it did. */
  readonly unanswered: SlipwayError | null;
}

const AT_ONCE = 16;
const KEPT_READ = 10;

/**
 * The past of all targets, from their workflows: one query each, and one more if something runs.
 * @param knownView - a target's current view, if known: then it is not queried.
 */
export async function targetHistories(
  temporal: TemporalConnection,
  knownView: (workflowId: string) => TargetView | undefined,
): Promise<readonly TargetHistory[]> {
  const [targets, silent] = await Promise.all([listTargets(temporal), whyNoWorker(temporal)]);
  return pLimit(AT_ONCE).map(targets, (target) =>
    historyOf(temporal, target, knownView(target.workflowId), silent),
  );
}

async function historyOf(
  temporal: TemporalConnection,
  target: ListedTarget,
  known: TargetView | undefined,
  silent: SlipwayError | undefined,
): Promise<TargetHistory> {
  try {
    if (silent !== undefined) throw silent;
    const view = known ?? (await queryTarget(temporal, target.workflowId));
    if (view === undefined) return { ...target, ...NOTHING };
    return {
      workflowId: target.workflowId,
      name: view.state.spec?.name ?? target.name,
      releases: await releasesOf(temporal, view),
      olderIn: hasOlder(view) ? (view.state.lastRequest?.recordStore ?? null) : null,
      unanswered: null,
    };
  } catch (error) {
    if (!isUnanswered(error)) throw error;
    // A target whose payload key is not here must not hide the others.
    const kept = await readKeptTarget(temporal, target.workflowId, KEPT_READ).catch(
      ifSealed(() => undefined),
    );
    const releases = [...(kept?.ended ?? []), ...(kept?.running == null ? [] : [pastOfWork(kept.running)])];
    return { ...target, ...NOTHING, releases: releases.reverse(), unanswered: error };
  }
}

const NOTHING = { releases: [], olderIn: null, unanswered: null } as const;

/** Whether a target had more releases and rollbacks than its bounded history shows. The numbers tell. */
function hasOlder({ state, running }: TargetView): boolean {
  const { nextNumber, history, queue } = state;
  return history.length + queue.length + (running === null ? 0 : 1) < nextNumber - 1;
}

async function whyNoWorker(temporal: TemporalConnection): Promise<SlipwayError | undefined> {
  try {
    // Without one, Temporal itself has the newest releases.
    await requireWorker(temporal, 0);
    return undefined;
  } catch (error) {
    if (isUnanswered(error)) return error;
    throw error;
  }
}
