import { formatDuration } from '../../domain/duration.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { exactText } from '../../domain/scalars.ts';
import { pollQueues } from '../../domain/taskQueues.ts';
import { TEMPORAL_ANSWERS_WITHIN_MS, type TemporalConnection, callTemporal } from './connection.ts';
import type { TemporalSettings } from './temporalSettings.ts';

/** A worker polls anew every minute: one that was last seen longer ago is gone. */
const SEEN_WITHIN_MS = 75_000;
/** A worker that has just started appears a moment later. */
const PATIENCE_MS = 4_000;
const RETRY_MS = 100;

/**
 * The identities of the workers that poll the task queue and also the queues of waiting activities. If a worker version
 * is current, only workers of that version, or of the one that ramps, get work.
 */
export async function pollingWorkers(temporal: TemporalConnection): Promise<readonly string[]> {
  const { taskQueue } = temporal.settings;
  const [all, ...others] = await Promise.all([
    pollers(temporal, taskQueue, WORKFLOWS),
    ...pollQueues(taskQueue).map((queue) => pollers(temporal, queue, ACTIVITIES)),
  ]);
  return all.filter((identity) => others.every((polling) => polling.includes(identity)));
}

/** Temporal's `TaskQueueType`, which none of our dependencies exports. */
const WORKFLOWS: object = { taskQueueType: 1 };
const ACTIVITIES: object = { taskQueueType: 2 };

/**
 * When a worker last polled for workflow tasks, by Temporal's clock; 0 if never. A worker that completes tasks keeps
 * polling even if it is busy. One that hangs does not.
 */
export async function lastPoll(temporal: TemporalConnection): Promise<number> {
  const { pollers: seen } = await describePollers(temporal, temporal.settings.taskQueue, WORKFLOWS);
  return Math.max(0, ...seen.map(polledAt));
}

async function pollers(temporal: TemporalConnection, name: string, type: object): Promise<readonly string[]> {
  const { pollers: seen, versions } = await describePollers(temporal, name, type);
  const recent = seen.filter(
    (poller) =>
      Date.now() - polledAt(poller) < SEEN_WITHIN_MS &&
      (versions.length === 0 || versions.includes(poller.deploymentOptions?.buildId ?? '')),
  );
  return [...new Set(recent.map(({ identity }) => identity ?? 'unknown'))];
}

async function describePollers(temporal: TemporalConnection, name: string, type: object) {
  const { namespace } = temporal.settings;
  const describe = () =>
    temporal.connection.workflowService.describeTaskQueue({ namespace, taskQueue: { name }, ...type });
  const { pollers, versioningInfo } = await callTemporal(temporal, describe, TEMPORAL_ANSWERS_WITHIN_MS);
  const { currentDeploymentVersion: current, rampingDeploymentVersion: ramping } = versioningInfo ?? {};
  // Without a current version, unversioned workers get work too.
  const routed = current?.buildId ? [current.buildId, ramping?.buildId ?? current.buildId] : [];
  return { pollers, versions: routed };
}

type Poller = Awaited<ReturnType<typeof describePollers>>['pollers'][number];

function polledAt({ lastAccessTime }: Poller): number {
  return Number(lastAccessTime?.seconds ?? 0) * 1_000 + (lastAccessTime?.nanos ?? 0) / 1_000_000;
}

/**
 * @param patienceMs - how long to wait for a worker. Default: 4,000.
 * @returns the {@link pollingWorkers}.
 * @throws SlipwayError SLIPWAY_NO_WORKER if no worker polls the task queue.
 */
export async function requireWorker(
  temporal: TemporalConnection,
  patienceMs = PATIENCE_MS,
): Promise<readonly string[]> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const workers = await pollingWorkers(temporal);
    if (workers.length > 0) return workers;
    if (Date.now() >= deadline) {
      const { taskQueue } = temporal.settings;
      const [current] = (await describePollers(temporal, taskQueue, WORKFLOWS)).versions;
      const of = current === undefined ? '' : ` of version ${current}, which is current,`;
      const what = `no worker${of} polls the task queue "${taskQueue}"`;
      throw noWorker(temporal.settings, `${what}${lastPollText(await lastPoll(temporal), Date.now())}`);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Names both clocks, because only their difference makes a worker that polls look gone. */
function lastPollText(at: number, now: number): string {
  if (at === 0 || now - at < SEEN_WITHIN_MS) return '';
  const ago = formatDuration(now - at);
  const [polled, here] = [at, now].map((time) => exactText(new Date(time).toISOString()));
  return `; one did ${ago} ago, at ${polled} by Temporal's clock (it is ${here} by this machine's)`;
}

export function noWorker(settings: TemporalSettings, what: string, cause?: unknown): SlipwayError {
  return new SlipwayError('SLIPWAY_NO_WORKER', what, {
    place: `task queue "${settings.taskQueue}" at ${settings.address}, namespace "${settings.namespace}"`,
    hint: 'start one with "slipway worker" (or everything with "slipway dev"), with the same SLIPWAY_TASK_QUEUE',
    cause,
  });
}
