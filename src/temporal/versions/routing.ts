import { status } from '@grpc/grpc-js';
import { isGrpcServiceError } from '@temporalio/client';
import { optionalTsToMs, type Timestamp } from '@temporalio/common/lib/time.js';

import { SlipwayError } from '../../domain/errors.ts';
import { activityQueues } from '../../domain/taskQueues.ts';
import { callOrNone, TEMPORAL_ANSWERS_WITHIN_MS, type TemporalConnection } from '../client/connection.ts';
import { isGone, temporalError } from '../client/temporalError.ts';
import { deploymentName } from './workerVersion.ts';

export interface DescribedRouting extends Routing {
  /** Makes a change fail if another change came in between. */
  readonly conflictToken: Uint8Array;
}

/**
 * Reads the versions of workers, and which one Temporal sends work to.
 * @returns `undefined` if no versioned worker has ever polled the task queue.
 */
export async function describeRouting(temporal: TemporalConnection): Promise<DescribedRouting | undefined> {
  const { namespace, taskQueue } = temporal.settings;
  const asked = { namespace, deploymentName: deploymentName(taskQueue) };
  const describe = () => temporal.connection.workflowService.describeWorkerDeployment(asked);
  const described = await callOrNone(temporal, isGone, describe, TEMPORAL_ANSWERS_WITHIN_MS);
  if (described === undefined) return undefined;
  const { workerDeploymentInfo: info, conflictToken } = described;
  const routing = info?.routingConfig;
  const ramping = routing?.rampingDeploymentVersion?.buildId ?? '';
  const current = routing?.currentDeploymentVersion?.buildId || undefined;
  const versions = (info?.versionSummaries ?? []).map((summary): RoutedVersion => ({
    buildId: summary.deploymentVersion?.buildId ?? '',
    // Servers call the current version draining if it was made current again.
    status:
      summary.deploymentVersion?.buildId === current
        ? 'current'
        : (STATUSES[Number(summary.status)] ?? 'inactive'),
    createdAt: milliseconds(summary.createTime) ?? 0,
    // Servers up to 1.29 do not report when a version was last current.
    lastActiveAt: milliseconds(summary.lastCurrentTime) ?? milliseconds(summary.lastDeactivationTime),
  }));
  return {
    current,
    wasEverCurrent: milliseconds(routing?.currentVersionChangedTime) !== undefined,
    ramping:
      ramping === '' ? undefined : { buildId: ramping, percentage: routing?.rampingVersionPercentage ?? 0 },
    versions: versions.toSorted((one, other) => other.createdAt - one.createdAt),
    conflictToken,
  };
}

/** `temporal.api.enums.v1.WorkerDeploymentVersionStatus` */
const STATUSES: readonly (VersionStatus | undefined)[] = [
  undefined,
  'inactive',
  'current',
  'ramping',
  'draining',
  'drained',
];

async function queuesOf(temporal: TemporalConnection, buildId: string): Promise<readonly string[]> {
  const { namespace, taskQueue } = temporal.settings;
  const asked = { namespace, deploymentVersion: { deploymentName: deploymentName(taskQueue), buildId } };
  const describe = () => temporal.connection.workflowService.describeWorkerDeploymentVersion(asked);
  const found = await callOrNone(temporal, isGone, describe, TEMPORAL_ANSWERS_WITHIN_MS);
  return (found?.workerDeploymentVersionInfo?.taskQueueInfos ?? []).map(({ name }) => name ?? '');
}

/**
 * Sends new workflows, and workflows that move between versions, to a version from now on.
 * @param percentage - their share, from 0 to 100. 0 ends the ramp. Default: all of them, which makes the version current
 * and ends its ramp.
 * @throws SlipwayError SLIPWAY_ROLLOUT_REFUSED if the version lacks a task queue that the current one has, or if
 * another change came in between; SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function routeTo(
  { connection, client, settings }: TemporalConnection,
  { conflictToken }: DescribedRouting,
  buildId: string,
  percentage?: number,
): Promise<void> {
  const { namespace, taskQueue } = settings;
  const { identity } = client.options;
  const change = { namespace, deploymentName: deploymentName(taskQueue), conflictToken, identity };
  const { workflowService: service } = connection;
  const call = (): Promise<unknown> => {
    if (percentage === undefined) return service.setWorkerDeploymentCurrentVersion({ ...change, buildId });
    const ramp = percentage === 0 ? { buildId: '' } : { buildId, percentage };
    return service.setWorkerDeploymentRampingVersion({ ...change, ...ramp });
  };
  try {
    await client.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, call);
  } catch (error) {
    const isRefused = isGrpcServiceError(error) && error.code === status.FAILED_PRECONDITION;
    if (!isRefused) throw temporalError(error, settings);
    const what = percentage === undefined ? `make ${buildId} current` : `ramp ${buildId}`;
    throw new SlipwayError('SLIPWAY_ROLLOUT_REFUSED', `Temporal did not ${what}: ${error.details}`, {
      place: `worker deployment "${taskQueue}"`,
      hint: 'look again: slipway worker rollout',
      cause: error,
    });
  }
}

/** Since 1970; `undefined` if Temporal has no time, or an empty one: 0, or the year 1. */
function milliseconds(time: Timestamp | null | undefined): number | undefined {
  const at = optionalTsToMs(time) ?? 0;
  return at > 0 ? at : undefined;
}

/** How Temporal routes the work of a task queue to versions of its workers. */
export interface Routing {
  /** Gets new workflows and those that move between versions; `undefined` if unversioned workers do. */
  readonly current: string | undefined;
  readonly wasEverCurrent: boolean;
  readonly ramping: { readonly buildId: string; readonly percentage: number } | undefined;
  /** Newest first. */
  readonly versions: readonly RoutedVersion[];
}

/** `inactive`: never got work. `draining`: only pinned releases still run. `drained`: none does. */
export type VersionStatus = 'inactive' | 'current' | 'ramping' | 'draining' | 'drained';

/** One version of the workers. Times are in milliseconds since 1970. */
export interface RoutedVersion {
  readonly buildId: string;
  readonly status: VersionStatus;
  readonly createdAt: number;
  /** When it last stopped being current, or, if Temporal does not report that, getting new work. */
  readonly lastActiveAt: number | undefined;
}

/** The version that last got new work, except the current one; `undefined` if there is none. */
export function previousVersion({ current, versions }: Routing): string | undefined {
  const earlier = versions.filter(
    ({ buildId, lastActiveAt }) => buildId !== current && lastActiveAt !== undefined,
  );
  return earlier.toSorted((one, other) => (other.lastActiveAt ?? 0) - (one.lastActiveAt ?? 0))[0]?.buildId;
}

export function versionsStartingWith({ versions }: Routing, wanted: string): readonly string[] {
  return versions.map(({ buildId }) => buildId).filter((buildId) => buildId.startsWith(wanted));
}

/** The result of {@link makeFirstCurrent}. `current`: this version is current by now; `waits`: another one is. */
export type FirstVersion = 'made_current' | 'current' | 'waits';

/** Temporal knows a version only a moment after its worker has begun to poll. */
const LOOK_AGAIN_MS = 250;

/**
 * Makes a version current if none ever was, so that the first versioned workers of a task queue need no rollout.
 * Waits until Temporal knows all of the version's task queues, because work for an unknown one would find no worker.
 */
export async function makeFirstCurrent(
  temporal: TemporalConnection,
  buildId: string,
  signal: AbortSignal,
): Promise<FirstVersion | undefined> {
  const { taskQueue } = temporal.settings;
  const needed = [taskQueue, ...activityQueues(taskQueue)];
  while (!signal.aborted) {
    const routing = await describeRouting(temporal);
    if (routing?.wasEverCurrent === true) return routing.current === buildId ? 'current' : 'waits';
    const known = routing === undefined ? [] : await queuesOf(temporal, buildId);
    if (routing !== undefined && needed.every((queue) => known.includes(queue))) {
      try {
        await routeTo(temporal, routing, buildId);
        return 'made_current';
      } catch (error) {
        // Another worker was faster: the next read shows it.
        if ((await describeRouting(temporal))?.wasEverCurrent !== true) throw error;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
  return undefined;
}
