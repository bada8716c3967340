import { randomUUID } from 'node:crypto';

import {
  QueryNotRegisteredError,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  WorkflowUpdateStage,
} from '@temporalio/client';

import { SlipwayError } from '../../../domain/errors.ts';
import type { Progress, ReleaseRequest } from '../../../domain/release/release.ts';
import { targetWorkflowId } from '../../../domain/target/targetSpec.ts';
import type { ReleaseAnswer, RollbackAnswer } from '../../../domain/target/targetState.ts';
import { progressQuery } from '../../../messages/release.ts';
import {
  type HoldMessage,
  holdSignal,
  holdUpdate,
  type RollbackMessage,
  rollbackSignal,
  rollbackUpdate,
  submitReleaseUpdate,
  targetStart,
  type TargetView,
  unholdSignal,
  unholdUpdate,
  viewQuery,
  type WithdrawMessage,
  withdrawSignal,
} from '../../../messages/target.ts';
import { type TargetWorkflow, WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import { traceField } from '../../../traces/trace.ts';
import { ask, ASK_TIMEOUT_MS, refusal } from '../ask.ts';
import { TEMPORAL_ANSWERS_WITHIN_MS, type TemporalConnection } from '../connection.ts';
import { findStuckTask, refuseStuck } from '../stuckTask.ts';
import { isOutOfTime, isTemporalSilent, isWorkerSilent, temporalError } from '../temporalError.ts';
import { lastPoll, noWorker, requireWorker } from '../workerPresence.ts';

/** How a rollback was taken. `signal`: no worker answered, so it waits for one, safe with Temporal. */
export interface RollbackTaken extends Omit<RollbackAnswer, 'onHold'> {
  /** `null` while no worker has answered. */
  readonly onHold: boolean | null;
  readonly via: 'update' | 'signal';
}

/** How a hold or its end was taken. */
export interface HoldTaken {
  /** Whether the target is on hold now; `null` if no worker has answered yet. */
  readonly onHold: boolean | null;
  readonly via: 'update' | 'signal';
}

/** How long a worker may take to take a release, in milliseconds. If it is only busy, it is asked again. */
const SUBMIT_TIMEOUT_MS = 10_000;
const SUBMIT_AGAIN_MS = 5_000;
const PAUSE_MS = 500;
const LONGEST_SUBMIT_MS = 180_000;
/** A worker that has not polled for this long since it was asked hangs, or is gone. */
const HANGS_AFTER_MS = 4_500;
/** How long a worker may take to answer a question, in milliseconds. */
const QUERY_TIMEOUT_MS = 10_000;

/**
 * Sends a request for a release to its target, which is started where it is new: one Update-with-Start, waiting until
 * it is accepted. If no worker takes it, the submission is withdrawn: a worker that wakes up later does not start it.
 *
 * The submission's id, that of the update, is new each time: the same one would be answered with the old answer. What
 * asks for the same thing is told by the request key.
 *
 * @throws SlipwayError SLIPWAY_NO_WORKER, SLIPWAY_TEMPORAL_UNREACHABLE, SLIPWAY_USAGE for a request that the target
 * refuses.
 */
export async function submitRelease(
  temporal: TemporalConnection,
  asked: ReleaseRequest,
): Promise<ReleaseAnswer> {
  const request = { ...asked, ...traceField() };
  const submission = randomUUID();
  const { settings } = temporal;
  await requireWorker(temporal);
  const from = Date.now();
  try {
    return await submitWhilePolled(temporal, request, submission);
  } catch (error) {
    const silent = isUntaken(error);
    const waitedS = Math.round((Date.now() - from) / 1_000);
    const failed = silent
      ? noWorker(settings, `no worker took the release within ${waitedS} s`, error)
      : (refusal(error) ?? temporalError(error, settings));
    if (!silent && !isTemporalSilent(error)) throw failed;
    const delivered = await withdrawSubmission(temporal, request, submission);
    if (silent) await refuseStuck(temporal, targetWorkflowId(request.target));
    throw withdrawn(failed, delivered);
  }
}

/**
 * Asks until a worker takes the release: again under the same id, for as long as workers poll and the target is not
 * stuck. Temporal takes the same id for the same submission.
 */
async function submitWhilePolled(
  temporal: TemporalConnection,
  request: ReleaseRequest,
  updateId: string,
): Promise<ReleaseAnswer> {
  const { client, settings } = temporal;
  const { target, recordStore } = request;
  const giveUpAt = Date.now() + LONGEST_SUBMIT_MS;
  /** The newest poll, and when it was seen first. */
  let polled = { at: 0, seenAt: Date.now() };
  for (let waitMs = SUBMIT_TIMEOUT_MS; ; waitMs = SUBMIT_AGAIN_MS) {
    try {
      return await client.withDeadline(Date.now() + waitMs, async () => {
        const update = await client.workflow.startUpdateWithStart(submitReleaseUpdate, {
          startWorkflowOperation: new WithStartWorkflowOperation<TargetWorkflow>(
            WORKFLOW_TYPES.target,
            targetStart(target, recordStore, settings.taskQueue),
          ),
          waitForStage: WorkflowUpdateStage.ACCEPTED,
          updateId,
          args: [request],
        });
        return update.result();
      });
    } catch (error) {
      if (!isUntaken(error) || Date.now() > giveUpAt) throw error;
      const at = await lastPoll(temporal).catch(() => 0);
      if (at > polled.at) polled = { at, seenAt: Date.now() };
      else if (Date.now() - polled.seenAt >= HANGS_AFTER_MS) throw error;
      const stuck = await findStuckTask(temporal, targetWorkflowId(target)).catch(() => undefined);
      if (stuck !== undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/**
 * Whether no worker has taken an update yet. Temporal refuses one, too, while the workers of a busy machine do not finish
 * the workflow's task in time.
 */
function isUntaken(error: unknown): boolean {
  return error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || isWorkerSilent(error);
}

/**
 * Withdraws a submission that was not answered, by signal: Temporal keeps it until a worker is there, and the target
 * honors it in either order of arrival.
 *
 * @returns whether Temporal has taken it.
 */
async function withdrawSubmission(
  { client, settings }: TemporalConnection,
  { target, recordStore, requestedBy: { who, from } }: ReleaseRequest,
  submission: string,
): Promise<boolean> {
  const message: WithdrawMessage = { submission, who, from, reason: 'the command that asked got no answer' };
  try {
    await client.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, () =>
      client.workflow.signalWithStart(WORKFLOW_TYPES.target, {
        ...targetStart(target, recordStore, settings.taskQueue),
        signal: withdrawSignal,
        signalArgs: [message],
      }),
    );
    return true;
  } catch (error) {
    if (temporalError(error, settings) instanceof SlipwayError) return false;
    throw error;
  }
}

/** The same error, with what became of the submission. */
function withdrawn(failed: unknown, taken: boolean): unknown {
  if (!(failed instanceof SlipwayError)) return failed;
  const { code, message, place, hint, cause } = failed;
  const became = taken
    ? 'the release was withdrawn, and a worker that wakes up later does not make it'
    : 'the release could not be withdrawn and may still start: look with "slipway status"';
  return new SlipwayError(code, `${message}; ${became}`, {
    place,
    hint,
    cause,
  });
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
  const identified = { ...message, requestId: message.requestId ?? randomUUID(), ...traceField() };
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
    serves: null,
    onHold: null,
    via: 'signal',
  };
}

/**
 * Puts a target on hold, or ends its hold. Temporal answers a repeated request id with the first answer.
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
    update: () =>
      handle.executeUpdate(holding ? holdUpdate : unholdUpdate, {
        args: [message],
        updateId: message.requestId,
      }),
    signal: () => handle.signal(holding ? holdSignal : unholdSignal, message),
  });
  return onHold === undefined ? { onHold: null, via: 'signal' } : { onHold, via: 'update' };
}

/** Whether a target does not answer, although Temporal does: no worker is there, or none can continue it. */
export function isUnanswered(error: unknown): error is SlipwayError {
  return (
    error instanceof SlipwayError &&
    (error.code === 'SLIPWAY_NO_WORKER' || error.code === 'SLIPWAY_WORKFLOW_STUCK')
  );
}

/**
 * What a target says of itself; `undefined` if it has never taken a release.
 *
 * @throws SlipwayError SLIPWAY_NO_WORKER, SLIPWAY_WORKFLOW_STUCK, SLIPWAY_TEMPORAL_UNREACHABLE,
 *   SLIPWAY_TARGET_UNREADABLE if it was started again and has not read yet what it knew.
 */
export async function viewTarget(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<TargetView | undefined> {
  const { client, settings } = temporal;
  try {
    // Asked first, because a query waits for a worker for as long as it may, and says no more than that it timed out.
    await client.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, () =>
      client.workflow.getHandle(workflowId).describe(),
    );
    await requireWorker(temporal);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw temporalError(error, settings);
  }
  return queryTarget(temporal, workflowId);
}

/**
 * The same of a target that exists, while a worker polls: one call.
 *
 * @throws as {@link viewTarget}.
 */
export async function queryTarget(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<TargetView | undefined> {
  const { client, settings } = temporal;
  try {
    const view = await client.withDeadline(Date.now() + QUERY_TIMEOUT_MS, () =>
      client.workflow.getHandle(workflowId).query(viewQuery),
    );
    // An empty state would be taken for that of a target that has never released anything.
    if (view.recovering === true) throw reading(workflowId, view);
    return view;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    await refuseStuck(temporal, workflowId);
    // Temporal has just answered: who is silent is the worker, killed or hung a moment ago.
    if (isWorkerSilent(error) || isOutOfTime(error)) {
      const silent = `no worker of the task queue "${settings.taskQueue}" answered within ${QUERY_TIMEOUT_MS / 1_000} s`;
      throw noWorker(settings, silent, error);
    }
    throw temporalError(error, settings);
  }
}

function reading(place: string, { state }: TargetView): SlipwayError {
  const why = state.hold?.by.reason ?? 'it was started again and reads its earlier state';
  return new SlipwayError('SLIPWAY_TARGET_UNREADABLE', `the target cannot answer yet: ${why}`, {
    place,
    hint: 'try again; to start without its earlier state: slipway unhold TARGET --reason "…"',
  });
}

/**
 * Where a running release or rollback stands; `undefined` if it has just ended and is gone, or does not answer.
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
    const isGoneOrSilent =
      error instanceof WorkflowNotFoundError || isWorkerSilent(error) || isTemporalSilent(error);
    // A worker that cannot rebuild the release answers with why.
    if (isGoneOrSilent || error instanceof QueryNotRegisteredError) return undefined;
    throw temporalError(error, settings);
  }
}
