import { setTimeout as sleep } from 'node:timers/promises';

import { ActivityNotFoundError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import protos from '@temporalio/proto';
import pLimit from 'p-limit';

import type { FailureDetail } from '../../../domain/failure.ts';
import { targetOf } from '../../../domain/target/targetSpec.ts';
import { WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import type { TemporalConnection } from '../../client/connection.ts';
import { eachRunning } from '../../client/listRunning.ts';
import { isInstance, type WorkerRegistry } from './workerRegistry.ts';

export type TakeOverEvent =
  | { readonly what: 'failed_step'; readonly step: AbandonedStep }
  /** Abandoned steps could not be looked for. They fail at their deadlines. */
  | { readonly what: 'could_not_look'; readonly error: unknown };

/** Looks twice: Temporal's lists and a killed worker's death may be late by a second or two. */
const LOOK_AFTER_MS = [0, 3_000] as const;
const LOOK_MAX_MS = 20_000;

/**
 * Takes over from killed workers of this machine: fails the activities that they had begun now, so that Temporal
 * retries them before their deadlines. Never throws, because without this everything continues, only later.
 */
export async function takeOver(
  temporal: TemporalConnection,
  registry: WorkerRegistry,
  options: { readonly signal: AbortSignal; readonly onEvent: (event: TakeOverEvent) => void },
): Promise<void> {
  const { signal, onEvent } = options;
  for (const [turn, pauseMs] of LOOK_AFTER_MS.entries()) {
    try {
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
      const isLast = turn === LOOK_AFTER_MS.length - 1;
      // A worker that ends does not wait for a Temporal that hangs.
      await temporal.client.withAbortSignal(signal, () => look(temporal, registry, isLast, onEvent));
    } catch (error) {
      if (signal.aborted) return;
      onEvent({ what: 'could_not_look', error });
    }
  }
}

/** @param last - whether this is the last look, after which the killed workers can be forgotten. */
async function look(
  temporal: TemporalConnection,
  registry: WorkerRegistry,
  last: boolean,
  onEvent: (event: TakeOverEvent) => void,
): Promise<void> {
  const killed = await registry.killed();
  if (killed.length === 0) return;
  const steps = await temporal.client.withDeadline(Date.now() + LOOK_MAX_MS, () =>
    failAbandonedSteps(temporal, killed),
  );
  for (const step of steps) onEvent({ what: 'failed_step', step });
  if (last) await Promise.all(killed.map((instance) => registry.forget(instance)));
}

/** An activity that a killed worker had begun. */
interface AbandonedStep {
  readonly workflowId: string;
  readonly activityId: string;
  readonly activityType: string;
  readonly workerIdentity: string;
  readonly attempt: number;
}

/** The most running releases to look through. The steps of others wait for their own deadlines. */
const WORKFLOWS_MAX = 1_000;
/** How many calls to make at once. It leaves most of Temporal Cloud's rate limit to the workers. */
const AT_ONCE = 10;
const { PENDING_ACTIVITY_STATE_STARTED: STARTED } = protos.temporal.api.enums.v1.PendingActivityState;
/** At once, because the calls have already waited for the dead worker. */
const RETRY_DELAY_MS = 1;

/**
 * Fails the activities that killed workers had begun in releases and rollbacks and that no other worker has
 * continued, so that they do not wait for their heartbeat or attempt timeouts. Temporal retries steps that it may
 * retry at once. For create, PATCH and redeploy, the workflow reads what became of the call before it sends another.
 *
 * If the worker were alive, this would only repeat the activity, as a missed deadline would.
 * @returns the activities that it failed.
 */
async function failAbandonedSteps(
  temporal: TemporalConnection,
  killed: readonly string[],
): Promise<readonly AbandonedStep[]> {
  const { release, rollback } = WORKFLOW_TYPES;
  const workflowIds: string[] = [];
  for await (const { workflowId } of eachRunning(
    temporal,
    [release, rollback],
    temporal.settings.taskQueue,
  )) {
    if (workflowIds.push(workflowId) === WORKFLOWS_MAX) break;
  }
  const failed = await pLimit(AT_ONCE).map(workflowIds, (workflowId) => failIn(temporal, workflowId, killed));
  return failed.flat();
}

async function failIn(
  temporal: TemporalConnection,
  workflowId: string,
  killed: readonly string[],
): Promise<readonly AbandonedStep[]> {
  const steps = await abandonedIn(temporal, workflowId, killed);
  if (steps.length === 0) return [];
  await offerToAll(temporal, workflowId);
  await offerToAll(temporal, targetOf(workflowId));
  const failed: AbandonedStep[] = [];
  for (const step of steps) {
    try {
      await temporal.client.activity.fail({ workflowId, activityId: step.activityId }, workerKilled(step));
      failed.push(step);
    } catch (error) {
      // Its deadline or another worker was faster.
      if (!(error instanceof ActivityNotFoundError)) throw error;
    }
  }
  return failed;
}

/** Has Temporal give a workflow's next task to any worker. If it refuses, the task waits for the killed worker first. */
async function offerToAll({ client, settings }: TemporalConnection, workflowId: string): Promise<void> {
  const { namespace } = settings;
  await client.workflowService
    .resetStickyTaskQueue({ namespace, execution: { workflowId } })
    .catch(() => undefined);
}

async function abandonedIn(
  { client }: TemporalConnection,
  workflowId: string,
  killed: readonly string[],
): Promise<readonly AbandonedStep[]> {
  try {
    const { raw } = await client.workflow.getHandle(workflowId).describe();
    return (raw.pendingActivities ?? []).flatMap(
      ({ activityId, activityType, state, lastWorkerIdentity, attempt }) => {
        if (state !== STARTED || activityId == null || lastWorkerIdentity == null) return [];
        if (!killed.some((instance) => isInstance(lastWorkerIdentity, instance))) return [];
        const step = {
          workflowId,
          activityId,
          activityType: activityType?.name ?? '',
          attempt: attempt ?? 1,
        };
        return [{ ...step, workerIdentity: lastWorkerIdentity }];
      },
    );
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return [];
    throw error;
  }
}

/** The failure of such a step: how far the call got is unknown. */
function workerKilled({ workerIdentity, attempt }: AbandonedStep): ApplicationFailure {
  const code = 'SLIPWAY_WORKER_KILLED';
  const detail: FailureDetail = { code, mayHaveBeenTaken: true, attempt };
  return ApplicationFailure.create({
    message: `the worker ${workerIdentity} was killed while it did this`,
    type: code,
    nonRetryable: false,
    nextRetryDelay: RETRY_DELAY_MS,
    details: [detail],
  });
}
