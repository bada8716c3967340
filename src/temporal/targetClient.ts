import { randomUUID } from 'node:crypto';

import {
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  WorkflowUpdateStage,
} from '@temporalio/client';
import { ApplicationFailure, defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';

import { SlipwayError } from '../domain/errors.ts';
import { type HoldMessage, type RollbackMessage } from '../domain/message.ts';
import { type Progress, type ReleaseRequest } from '../domain/release.ts';
import { SEARCH_ATTRIBUTES } from '../domain/searchAttributes.ts';
import { type ReleaseAnswer, type RollbackAnswer } from '../domain/targetState.ts';
import { targetWorkflowId } from '../domain/targetSpec.ts';
import {
  holdSignal,
  holdUpdate,
  progressQuery,
  rollbackSignal,
  rollbackUpdate,
  submitReleaseUpdate,
  type TargetInput,
  type TargetView,
  unholdSignal,
  unholdUpdate,
  viewQuery,
  WORKFLOW_TYPES,
} from '../workflows/messages.ts';
import { type TemporalConnection } from './connection.ts';
import { grpcStatus, isTemporalSilent, isWorkerSilent, temporalError } from './temporalError.ts';
import { noWorker, requireWorker } from './workerPresence.ts';

/** How a rollback was taken. `signal`: no worker answered, so it waits for one, safe with Temporal. */
export interface RollbackTaken extends RollbackAnswer {
  readonly via: 'update' | 'signal';
}

/** How a hold or its end was taken. */
export interface HoldTaken {
  /** Whether the target is on hold now; `null` where no worker has answered yet. */
  readonly onHold: boolean | null;
  readonly via: 'update' | 'signal';
}

/** How long a worker may take to take a release, in milliseconds. */
const SUBMIT_TIMEOUT_MS = 15_000;
/** How long a worker may take to take what a person asks for before it is left with Temporal, in milliseconds. */
const ASK_TIMEOUT_MS = 5_000;
/** How long a worker may take to answer a question, in milliseconds. */
const QUERY_TIMEOUT_MS = 10_000;
const GRPC_DEADLINE_EXCEEDED = 4;

/**
 * Sends a request for a release to its target, which is started where it is new: one Update-with-Start, waiting until
 * it is accepted. Before that nothing is durable, so nothing is claimed.
 *
 * The update's id is new each time: the same one would be answered with the old answer. What asks for the same thing
 * is told by the request key.
 *
 * @throws SlipwayError SLIPWAY_NO_WORKER, SLIPWAY_TEMPORAL_UNREACHABLE, SLIPWAY_USAGE for a request that the target
 * refuses.
 */
export async function submitRelease(
  temporal: TemporalConnection,
  request: ReleaseRequest,
  timeoutMs: number = SUBMIT_TIMEOUT_MS,
): Promise<ReleaseAnswer> {
  const { client, settings } = temporal;
  await requireWorker(temporal);
  const target = new WithStartWorkflowOperation<(input?: TargetInput) => Promise<void>>(
    WORKFLOW_TYPES.target,
    {
      workflowId: targetWorkflowId(request.target),
      taskQueue: settings.taskQueue,
      args: [],
      workflowIdConflictPolicy: 'USE_EXISTING',
      typedSearchAttributes: new TypedSearchAttributes([
        { key: defineSearchAttributeKey(SEARCH_ATTRIBUTES.target, 'KEYWORD'), value: request.target.name },
      ]),
      staticSummary: `target ${request.target.name}: ${request.target.deployment}`,
    },
  );
  try {
    return await client.withDeadline(Date.now() + timeoutMs, async () => {
      const update = await client.workflow.startUpdateWithStart(submitReleaseUpdate, {
        startWorkflowOperation: target,
        waitForStage: WorkflowUpdateStage.ACCEPTED,
        updateId: randomUUID(),
        args: [request],
      });
      return update.result();
    });
  } catch (error) {
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
      throw noWorker(settings, `no worker took the release within ${timeoutMs / 1_000} s`, error);
    }
    throw refusal(error) ?? temporalError(error, settings);
  }
}

/**
 * Asks a target to roll back. Where no worker answers, it is said by signal instead: Temporal keeps that until a
 * worker is there. Both carry one request id, so that saying it twice is saying it once.
 *
 * @throws SlipwayError SLIPWAY_TARGET_NEVER_RELEASED, SLIPWAY_TEMPORAL_UNREACHABLE, SLIPWAY_USAGE.
 */
export async function rollBack(
  temporal: TemporalConnection,
  workflowId: string,
  message: RollbackMessage,
): Promise<RollbackTaken> {
  const identified = { ...message, requestId: message.requestId ?? randomUUID() };
  const answer = await ask(temporal, workflowId, {
    update: async () => {
      const handle = temporal.client.workflow.getHandle(workflowId);
      return handle.executeUpdate(rollbackUpdate, { args: [identified], updateId: identified.requestId });
    },
    signal: () => temporal.client.workflow.getHandle(workflowId).signal(rollbackSignal, identified),
  });
  if (answer !== undefined) return { ...answer, via: 'update' };
  return {
    requestId: identified.requestId,
    disposition: 'queued',
    reason: 'no worker answers; Temporal keeps the request until one does',
    via: 'signal',
  };
}

/**
 * Puts a target on hold, or ends its hold.
 *
 * @throws SlipwayError SLIPWAY_TARGET_NEVER_RELEASED, SLIPWAY_TEMPORAL_UNREACHABLE, SLIPWAY_USAGE.
 */
export async function setHold(
  temporal: TemporalConnection,
  workflowId: string,
  holding: boolean,
  message: HoldMessage,
): Promise<HoldTaken> {
  const handle = temporal.client.workflow.getHandle(workflowId);
  const onHold = await ask(temporal, workflowId, {
    update: () => handle.executeUpdate(holding ? holdUpdate : unholdUpdate, { args: [message] }),
    signal: () => handle.signal(holding ? holdSignal : unholdSignal, message),
  });
  return onHold === undefined ? { onHold: null, via: 'signal' } : { onHold, via: 'update' };
}

/**
 * What a target says of itself; `undefined` where it has never taken a release.
 *
 * @throws SlipwayError SLIPWAY_NO_WORKER, SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function viewTarget(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<TargetView | undefined> {
  const { client, settings } = temporal;
  try {
    // Asked first, because a query waits for a worker for as long as it may, and says no more than that it timed out.
    await client.withDeadline(Date.now() + ASK_TIMEOUT_MS, () =>
      client.workflow.getHandle(workflowId).describe(),
    );
    await requireWorker(temporal);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw temporalError(error, settings);
  }
  try {
    return await client.withDeadline(Date.now() + QUERY_TIMEOUT_MS, () =>
      client.workflow.getHandle(workflowId).query(viewQuery),
    );
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    // Temporal has just answered: who is silent is the worker, killed or hung a moment ago.
    if (isWorkerSilent(error) || grpcStatus(error) === GRPC_DEADLINE_EXCEEDED) {
      throw noWorker(settings, `no worker answered within ${QUERY_TIMEOUT_MS / 1_000} s`, error);
    }
    throw temporalError(error, settings);
  }
}

/**
 * Where a running release or rollback stands; `undefined` where it has just ended and is gone, or does not answer.
 *
 * @param workflowId - the release's own.
 */
export async function readProgress(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<Progress | undefined> {
  const { client, settings } = temporal;
  try {
    return await client.withDeadline(Date.now() + ASK_TIMEOUT_MS, () =>
      client.workflow.getHandle(workflowId).query(progressQuery),
    );
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || isWorkerSilent(error) || isTemporalSilent(error)) {
      return undefined;
    }
    throw temporalError(error, settings);
  }
}

/** What is said to a running target: by update, which answers; by signal, which waits for whoever listens. */
interface Ask<T> {
  update(): Promise<T>;
  signal(): Promise<void>;
}

/** Says it by update; where no worker answers in time, by signal, and then the answer is `undefined`. */
async function ask<T>(temporal: TemporalConnection, workflowId: string, how: Ask<T>): Promise<T | undefined> {
  const { client, settings } = temporal;
  try {
    return await client.withDeadline(Date.now() + ASK_TIMEOUT_MS, () => how.update());
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw neverReleased(workflowId);
    if (!(error instanceof WorkflowUpdateRPCTimeoutOrCancelledError)) {
      throw refusal(error) ?? temporalError(error, settings);
    }
  }
  try {
    await client.withDeadline(Date.now() + ASK_TIMEOUT_MS, () => how.signal());
    return undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw neverReleased(workflowId);
    throw temporalError(error, settings);
  }
}

/** The target's own refusal, where that is what an update failed with. */
function refusal(error: unknown): SlipwayError | undefined {
  if (!(error instanceof WorkflowUpdateFailedError) || !(error.cause instanceof ApplicationFailure)) {
    return undefined;
  }
  return new SlipwayError('SLIPWAY_USAGE', `the target refused: ${error.cause.message}`, { cause: error });
}

function neverReleased(workflowId: string): SlipwayError {
  return new SlipwayError('SLIPWAY_TARGET_NEVER_RELEASED', 'this target has never taken a release', {
    place: workflowId,
    hint: 'release once with "slipway release"; to put a revision back without it: slipway rollback --break-glass',
  });
}
