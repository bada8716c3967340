import { SlipwayError } from '../../domain/errors.ts';
import { pollQueues } from '../../domain/taskQueues.ts';
import { TEMPORAL_ANSWERS_WITHIN_MS, type TemporalConnection } from './connection.ts';
import { temporalError } from './temporalError.ts';
import type { TemporalSettings } from './temporalSettings.ts';

/** A worker's poll ends after a minute and begins anew: one that was seen longer ago is gone. */
const SEEN_WITHIN_MS = 75_000;
/** A worker that has just started is seen a moment later. */
const PATIENCE_MS = 4_000;
const RETRY_MS = 100;

/**
 * The workers that poll the task queue, and those of the activities that wait beside it, by the identity that each gave
 * itself.
 *
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function pollingWorkers(temporal: TemporalConnection): Promise<readonly string[]> {
  const { taskQueue } = temporal.settings;
  const [all, ...others] = await Promise.all([
    pollers(temporal, taskQueue, WORKFLOWS),
    ...pollQueues(taskQueue).map((queue) => pollers(temporal, queue, ACTIVITIES)),
  ]);
  return all.filter((identity) => others.every((polling) => polling.includes(identity)));
}

/** Temporal's `TaskQueueType`, which no package that we depend on exports. */
const WORKFLOWS: object = { taskQueueType: 1 };
const ACTIVITIES: object = { taskQueueType: 2 };

/**
 * When a worker has polled for workflows last, by the clock of Temporal; 0: never. A worker that takes tasks, however busy,
 * polls again and again; one that hangs does not.
 *
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function lastPoll(temporal: TemporalConnection): Promise<number> {
  const seen = await describePollers(temporal, temporal.settings.taskQueue, WORKFLOWS);
  return Math.max(0, ...seen.map(polledAt));
}

async function pollers(temporal: TemporalConnection, name: string, type: object): Promise<readonly string[]> {
  const seen = await describePollers(temporal, name, type);
  const recent = seen.filter((poller) => Date.now() - polledAt(poller) < SEEN_WITHIN_MS);
  return [...new Set(recent.map(({ identity }) => identity ?? 'unknown'))];
}

async function describePollers({ connection, settings }: TemporalConnection, name: string, type: object) {
  try {
    const { pollers: seen } = await connection.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, () =>
      connection.workflowService.describeTaskQueue({
        namespace: settings.namespace,
        taskQueue: { name },
        ...type,
      }),
    );
    return seen;
  } catch (error) {
    throw temporalError(error, settings);
  }
}

type Poller = Awaited<ReturnType<typeof describePollers>>[number];

function polledAt({ lastAccessTime }: Poller): number {
  return Number(lastAccessTime?.seconds ?? 0) * 1_000 + (lastAccessTime?.nanos ?? 0) / 1_000_000;
}

/** @throws SlipwayError SLIPWAY_NO_WORKER if no worker polls the task queue. */
export async function requireWorker(temporal: TemporalConnection): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while ((await pollingWorkers(temporal)).length === 0) {
    if (Date.now() > deadline) {
      throw noWorker(temporal.settings, `no worker polls the task queue "${temporal.settings.taskQueue}"`);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** What is said where no worker is there to answer. */
export function noWorker(settings: TemporalSettings, what: string, cause?: unknown): SlipwayError {
  return new SlipwayError('SLIPWAY_NO_WORKER', what, {
    place: `task queue "${settings.taskQueue}" at ${settings.address}, namespace "${settings.namespace}"`,
    hint: 'start one with "slipway worker" (or everything with "slipway dev"), with the same SLIPWAY_TASK_QUEUE',
    cause,
  });
}
