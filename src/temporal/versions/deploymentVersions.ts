import { SlipwayError } from '../../domain/errors.ts';
import type { RoutedVersion, Routing, VersionStatus } from '../../domain/versions/routing.ts';
import { TEMPORAL_ANSWERS_WITHIN_MS, type TemporalConnection } from '../client/connection.ts';
import { isGone, temporalError } from '../client/temporalError.ts';
import { deploymentName } from './workerVersion.ts';

/** What Temporal knows about the worker deployment of the task queue. */
export interface DescribedRouting extends Routing {
  /** Makes a change fail if another change came in between. */
  readonly conflictToken: Uint8Array;
}

/**
 * Reads the versions of workers, and which one Temporal sends work to.
 * @returns `undefined` if no versioned worker has ever polled the task queue.
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function describeRouting(temporal: TemporalConnection): Promise<DescribedRouting | undefined> {
  try {
    const { workerDeploymentInfo: info, conflictToken } = await within(temporal, () =>
      temporal.connection.workflowService.describeWorkerDeployment({
        namespace: temporal.settings.namespace,
        deploymentName: deploymentName(temporal.settings.taskQueue),
      }),
    );
    const routing = info?.routingConfig;
    const ramping = routing?.rampingDeploymentVersion?.buildId ?? '';
    const versions = (info?.versionSummaries ?? []).map((summary): RoutedVersion => ({
      buildId: summary.deploymentVersion?.buildId ?? '',
      status: STATUSES[Number(summary.status)] ?? 'inactive',
      createdAt: milliseconds(summary.createTime) ?? 0,
      // Servers up to 1.29 do not report when a version was last current.
      lastActiveAt: milliseconds(summary.lastCurrentTime) ?? milliseconds(summary.lastDeactivationTime),
    }));
    return {
      current: nonEmpty(routing?.currentDeploymentVersion?.buildId),
      wasEverCurrent: milliseconds(routing?.currentVersionChangedTime) !== undefined,
      ramping:
        ramping === '' ? undefined : { buildId: ramping, percentage: routing?.rampingVersionPercentage ?? 0 },
      versions: versions.toSorted((one, other) => other.createdAt - one.createdAt),
      conflictToken,
    };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw temporalError(error, temporal.settings);
  }
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

/** The names of the task queues that workers of a version have polled. */
export async function queuesOf(temporal: TemporalConnection, buildId: string): Promise<readonly string[]> {
  const { namespace, taskQueue } = temporal.settings;
  try {
    const { workerDeploymentVersionInfo: info } = await within(temporal, () =>
      temporal.connection.workflowService.describeWorkerDeploymentVersion({
        namespace,
        deploymentVersion: { deploymentName: deploymentName(taskQueue), buildId },
      }),
    );
    return (info?.taskQueueInfos ?? []).map(({ name }) => name ?? '');
  } catch (error) {
    if (isGone(error)) return [];
    throw temporalError(error, temporal.settings);
  }
}

/**
 * Sends all new workflows, and all workflows that move between versions, to a version from now on. Ends a ramp of
 * this version.
 * @throws SlipwayError SLIPWAY_ROLLOUT_REFUSED if the version lacks a task queue that the current one has, or if
 * another change came in between; SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export function setCurrent(
  temporal: TemporalConnection,
  { conflictToken }: DescribedRouting,
  buildId: string,
): Promise<void> {
  const { namespace, taskQueue, identity } = changeOf(temporal);
  return change(temporal, `make ${buildId} current`, () =>
    temporal.connection.workflowService.setWorkerDeploymentCurrentVersion({
      namespace,
      deploymentName: deploymentName(taskQueue),
      buildId,
      conflictToken,
      identity,
    }),
  );
}

/**
 * Sends a share of the new workflows, and of those that move between versions, to a version.
 * @param percentage - from 0 to 100. 0 ends the ramp.
 * @throws as {@link setCurrent}.
 */
export function setRamping(
  temporal: TemporalConnection,
  { conflictToken }: DescribedRouting,
  buildId: string,
  percentage: number,
): Promise<void> {
  const { namespace, taskQueue, identity } = changeOf(temporal);
  const ramp = percentage === 0 ? { buildId: '' } : { buildId, percentage };
  return change(temporal, `ramp ${buildId}`, () =>
    temporal.connection.workflowService.setWorkerDeploymentRampingVersion({
      namespace,
      deploymentName: deploymentName(taskQueue),
      ...ramp,
      conflictToken,
      identity,
    }),
  );
}

function changeOf({ settings, client }: TemporalConnection) {
  const { namespace, taskQueue } = settings;
  return { namespace, taskQueue, identity: client.options.identity };
}

async function change(
  temporal: TemporalConnection,
  what: string,
  call: () => Promise<unknown>,
): Promise<void> {
  try {
    await within(temporal, call);
  } catch (error) {
    const { code, details } = error as { readonly code?: unknown; readonly details?: unknown };
    if (code !== FAILED_PRECONDITION || typeof details !== 'string')
      throw temporalError(error, temporal.settings);
    throw new SlipwayError('SLIPWAY_ROLLOUT_REFUSED', `Temporal did not ${what}: ${details}`, {
      place: `worker deployment "${temporal.settings.taskQueue}"`,
      hint: 'look again: slipway worker rollout',
      cause: error,
    });
  }
}

const FAILED_PRECONDITION = 9;

function within<T>({ connection }: TemporalConnection, call: () => Promise<T>): Promise<T> {
  return connection.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, call);
}

interface Timestamp {
  readonly seconds?: unknown;
  readonly nanos?: number | null;
}

function milliseconds(time: Timestamp | null | undefined): number | undefined {
  const seconds = Number(time?.seconds ?? 0);
  return seconds <= 0 ? undefined : seconds * 1_000 + Math.floor((time?.nanos ?? 0) / 1_000_000);
}

function nonEmpty(text: string | null | undefined): string | undefined {
  return text == null || text === '' ? undefined : text;
}
