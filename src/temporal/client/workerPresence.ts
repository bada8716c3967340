import { randomUUID } from 'node:crypto';

import type { WorkflowExecutionDescription } from '@temporalio/client';
import protos from '@temporalio/proto';

import { formatDuration } from '../../domain/duration.ts';
import { onSlipwayError, SlipwayError } from '../../domain/errors.ts';
import type { RunningCall } from '../../domain/heartbeat.ts';
import type { PromotionRequest } from '../../domain/promotion/promotion.ts';
import { targetWorkflowId } from '../../domain/target/targetSpec.ts';
import { pollQueues } from '../../domain/taskQueues.ts';
import {
  TEMPORAL_ANSWERS_WITHIN_MS,
  type TemporalConnection,
  callTemporal,
  describeWorkflow,
} from './connection.ts';
import type { TemporalSettings } from './temporalSettings.ts';

const { TaskQueueType, VersioningBehavior } = protos.temporal.api.enums.v1;
const { TASK_QUEUE_TYPE_WORKFLOW: WORKFLOWS, TASK_QUEUE_TYPE_ACTIVITY: ACTIVITIES } = TaskQueueType;

/** A worker polls anew every minute: one that was last seen longer ago is gone. */
const SEEN_WITHIN_MS = 75_000;
/** A worker that has just started appears a moment later. */
const PATIENCE_MS = 4_000;
const RETRY_MS = 100;
const LOOK_MS = 10;

/**
 * The identities of the workers that poll the task queue and also the queues of waiting activities.
 * @param version - only its workers count. Default: those that get work. If a worker version is current, these are
 * its workers, and those of the one that ramps.
 */
export async function pollingWorkers(
  temporal: TemporalConnection,
  version?: string,
): Promise<readonly string[]> {
  const { taskQueue } = temporal.settings;
  const queues = await Promise.all([
    describePollers(temporal, taskQueue, WORKFLOWS, version),
    ...pollQueues(taskQueue).map((queue) => describePollers(temporal, queue, ACTIVITIES, version)),
  ]);
  const workers = pollingAt(Date.now(), queues);
  if (workers.length > 0 || queues.some((queue) => counted(queue).length === 0)) return workers;
  // This machine's clock may be ahead.
  return pollingAt(await temporalTime(temporal), queues);
}

/** Those that polled all the queues lately. `now`: milliseconds since 1970. */
function pollingAt(now: number, queues: readonly PolledQueue[]): readonly string[] {
  const [all = new Set<string>(), ...others] = queues.map(
    (queue) =>
      new Set(
        counted(queue)
          .filter((poller) => now - polledAt(poller) < SEEN_WITHIN_MS)
          .map(({ identity }) => identity ?? 'unknown'),
      ),
  );
  return [...all].filter((identity) => others.every((polling) => polling.has(identity)));
}

/**
 * When a worker last polled for tasks, by Temporal's clock; 0 if never. A busy worker whose slots for workflow tasks are all
 * taken still polls for activities. One that hangs polls for nothing.
 */
export async function lastPoll(temporal: TemporalConnection, version?: string): Promise<number> {
  const { taskQueue } = temporal.settings;
  const queues = await Promise.all([
    describePollers(temporal, taskQueue, WORKFLOWS, version),
    ...[taskQueue, ...pollQueues(taskQueue)].map((queue) =>
      describePollers(temporal, queue, ACTIVITIES, version),
    ),
  ]);
  return Math.max(0, ...queues.flatMap(counted).map(polledAt));
}

/**
 * The time by Temporal's clock, in milliseconds since 1970: that of a poll which is only sent for this, on a queue of its
 * own. This machine's time if Temporal takes no poll from this process.
 */
async function temporalTime(temporal: TemporalConnection): Promise<number> {
  const { connection, settings } = temporal;
  const { namespace, taskQueue } = settings;
  const queue = { namespace, taskQueue: { name: `${taskQueue}-clock` }, identity: randomUUID() };
  const ended = new AbortController();
  const poll = () => connection.workflowService.pollActivityTaskQueue(queue);
  connection
    // Temporal rejects a poll without a deadline.
    .withAbortSignal(ended.signal, () =>
      connection.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, poll),
    )
    .catch(() => ended.abort());
  try {
    for (;;) {
      const { pollers } = await describePollers(temporal, queue.taskQueue.name, ACTIVITIES);
      const own = pollers.find(({ identity }) => identity === queue.identity);
      if (own !== undefined) return polledAt(own);
      if (ended.signal.aborted) return Date.now();
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  } finally {
    ended.abort();
  }
}

/** @param version - counted instead of those that get work. */
async function describePollers(
  temporal: TemporalConnection,
  name: string,
  taskQueueType: typeof WORKFLOWS | typeof ACTIVITIES,
  version?: string,
) {
  const { namespace } = temporal.settings;
  const asked = { namespace, taskQueue: { name }, taskQueueType };
  const describe = () => temporal.connection.workflowService.describeTaskQueue(asked);
  const { pollers, versioningInfo } = await callTemporal(temporal, describe, TEMPORAL_ANSWERS_WITHIN_MS);
  const { currentDeploymentVersion: current, rampingDeploymentVersion: ramping } = versioningInfo ?? {};
  if (version !== undefined) return { pollers, versions: [version] };
  // Without a current version, unversioned workers get work too.
  const routed = current?.buildId ? [current.buildId, ramping?.buildId ?? current.buildId] : [];
  return { pollers, versions: routed };
}

type PolledQueue = Awaited<ReturnType<typeof describePollers>>;
type Poller = PolledQueue['pollers'][number];

function counted({ pollers, versions }: PolledQueue): readonly Poller[] {
  if (versions.length === 0) return pollers;
  return pollers.filter(({ deploymentOptions }) => versions.includes(deploymentOptions?.buildId ?? ''));
}

function polledAt({ lastAccessTime }: Poller): number {
  return Number(lastAccessTime?.seconds ?? 0) * 1_000 + (lastAccessTime?.nanos ?? 0) / 1_000_000;
}

/** The versions that get new work; none if unversioned workers do. */
async function routedVersions(temporal: TemporalConnection): Promise<readonly string[]> {
  const { versions } = await describePollers(temporal, temporal.settings.taskQueue, WORKFLOWS);
  return versions;
}

/**
 * Requires workers of every version that gets a share of new work.
 * @param others - versions that also need workers.
 * @returns the {@link pollingWorkers}.
 * @throws SlipwayError SLIPWAY_NO_WORKER
 */
export async function requireEachVersion(
  temporal: TemporalConnection,
  patienceMs?: number,
  others: readonly string[] = [],
): Promise<readonly string[]> {
  const workers = await requireWorker(temporal, patienceMs);
  for (const version of new Set([...(await routedVersions(temporal)), ...others]))
    await requireWorker(temporal, patienceMs, version);
  return workers;
}

/**
 * @param patienceMs - how long to wait for a worker. Default: 4,000.
 * @param version - see {@link pollingWorkers}.
 * @returns the {@link pollingWorkers}.
 * @throws SlipwayError SLIPWAY_NO_WORKER if no worker polls the task queue.
 */
export async function requireWorker(
  temporal: TemporalConnection,
  patienceMs = PATIENCE_MS,
  version?: string,
): Promise<readonly string[]> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const workers = await pollingWorkers(temporal, version);
    if (workers.length > 0) return workers;
    if (Date.now() >= deadline) throw await workerMissing(temporal, version);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function workerMissing(temporal: TemporalConnection, version?: string): Promise<SlipwayError> {
  const [current, ramping] = await routedVersions(temporal);
  const wanted = version ?? current;
  const gets = wanted === current ? ', which is current,' : wanted === ramping ? ', which ramps,' : '';
  const of = wanted === undefined ? '' : ` of version ${wanted}${gets}`;
  const at = await lastPoll(temporal, version);
  const agoMs = at === 0 ? 0 : (await temporalTime(temporal)) - at;
  const last = agoMs < SEEN_WITHIN_MS ? '' : `; one did ${formatDuration(agoMs)} ago`;
  const what = `no worker${of} polls the task queue "${temporal.settings.taskQueue}"${last}`;
  return noWorker(temporal.settings, what, undefined, wanted === undefined ? START : START_VERSION);
}

/** @throws SlipwayError SLIPWAY_NO_WORKER if no worker polls that could answer for a workflow, which may not exist yet. */
export async function requireWorkerOf(temporal: TemporalConnection, workflowId: string): Promise<void> {
  const described = await describeWorkflow(temporal, workflowId);
  await requireWorker(temporal, 0, described && pinnedVersion(described));
}

/** @throws SlipwayError SLIPWAY_NO_WORKER if a promotion would wait. People may have pinned one of its targets by hand. */
export async function requireWorkersOfPromotion(
  temporal: TemporalConnection,
  { from, to }: Pick<PromotionRequest, 'from' | 'to'>,
): Promise<void> {
  await requireEachVersion(temporal);
  for (const target of [from, to]) await requireWorkerOf(temporal, targetWorkflowId(target));
}

/** Why nothing answers for a workflow, and the next command; `undefined` if workers poll that could. */
export async function whyNoAnswer(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<SlipwayError | undefined> {
  return requireWorkerOf(temporal, workflowId).then(
    () => undefined,
    onSlipwayError((error) => (error.code === 'SLIPWAY_NO_WORKER' ? error : undefined)),
  );
}

/** {@link whyNoAnswer}, as a running step reports what it found; `null` if workers poll, or if that is not known. */
export async function noAnswerCall(
  temporal: TemporalConnection,
  workflowId: string,
  since = new Date().toISOString(),
): Promise<RunningCall | null> {
  const why = await whyNoAnswer(temporal, workflowId).catch(() => undefined);
  return why === undefined ? null : { says: `${why.message}: ${why.hint}`, since, until: null };
}

/** The version of workers that a workflow is pinned to, by itself or by hand; `undefined` if it is not pinned. */
export function pinnedVersion({ raw }: Pick<WorkflowExecutionDescription, 'raw'>): string | undefined {
  const { behavior, deploymentVersion, versioningOverride } = raw.workflowExecutionInfo?.versioningInfo ?? {};
  const version =
    versioningOverride?.pinned?.version ??
    (behavior === VersioningBehavior.VERSIONING_BEHAVIOR_PINNED ? deploymentVersion : undefined);
  return version?.buildId ?? undefined;
}

const START =
  'start one with "slipway worker" (or everything with "slipway dev"), with the same SLIPWAY_TASK_QUEUE';
const START_VERSION =
  'start one from that version’s installation with SLIPWAY_WORKER_VERSIONING=1, or see which versions run what: slipway worker rollout';

export function noWorker(
  settings: TemporalSettings,
  what: string,
  cause?: unknown,
  hint = START,
): SlipwayError {
  return new SlipwayError('SLIPWAY_NO_WORKER', what, {
    place: `task queue "${settings.taskQueue}" at ${settings.address}, namespace "${settings.namespace}"`,
    hint,
    cause,
  });
}
