import { randomUUID } from 'node:crypto';

import {
  QueryNotRegisteredError,
  WithStartWorkflowOperation,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateStage,
} from '@temporalio/client';

import { hasCode, SlipwayError } from '../../../domain/errors.ts';
import type { Progress, ReleaseRequest, ReleaseResult } from '../../../domain/release/release.ts';
import { endLost, endUnstarted } from '../../../domain/target/targetQueue.ts';
import { recordResult } from '../../../domain/target/targetResult.ts';
import { targetWorkflowId } from '../../../domain/target/targetSpec.ts';
import type { ReleaseAnswer, RollbackAnswer } from '../../../domain/target/targetState.ts';
import { workflowResult } from '../../../domain/workflowResult.ts';
import { progressQuery } from '../../../messages/release.ts';
import {
  type HoldMessage,
  holdSignal,
  holdUpdate,
  type RollbackMessage,
  rollbackSignal,
  rollbackUpdate,
  submitReleaseUpdate,
  targetNameOf,
  targetStart,
  type TargetView,
  unholdSignal,
  unholdUpdate,
  viewQuery,
  type WithdrawMessage,
  withdrawSignal,
} from '../../../messages/target.ts';
import { type TargetWorkflow, WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import { currentTrace } from '../../../traces/trace.ts';
import { ask, ASK_TIMEOUT_MS, refusal, stateAfterReset } from '../ask.ts';
import {
  callOrNone,
  describeWorkflow,
  TEMPORAL_ANSWERS_WITHIN_MS,
  type TemporalConnection,
} from '../connection.ts';
import { listRunning } from '../listRunning.ts';
import { findStuckTask, refuseStuck } from '../stuckTask.ts';
import {
  isOutOfTime,
  isSealed,
  isTemporalSilent,
  isUntaken,
  isWorkerSilent,
  temporalError,
} from '../temporalError.ts';
import { lastPoll, noWorker, requireWorker, requireWorkerOf, whyNoAnswer } from '../workerPresence.ts';

export interface HoldTaken {
  /** Whether the target is on hold now; `null` until a worker has answered. */
  readonly onHold: boolean | null;
  /** `signal`: no worker answered, so Temporal keeps the message until one does. */
  readonly via: 'update' | 'signal';
}

export interface RollbackTaken extends Omit<RollbackAnswer, 'onHold'>, HoldTaken {}

/** How long a worker may take to accept a release, in milliseconds. A busy worker is asked again. */
const SUBMIT_TIMEOUT_MS = 10_000;
const SUBMIT_AGAIN_MS = 5_000;
const PAUSE_MS = 500;
const LONGEST_SUBMIT_MS = 180_000;
/** A worker that has not polled for this long since it was asked is hung or gone. */
const HANGS_AFTER_MS = 4_500;
const QUERY_TIMEOUT_MS = 10_000;

/**
 * Submits a release to its target with one Update-with-Start, which starts a new target, and waits until it is
 * accepted. If no worker accepts it, the submission is withdrawn, so that a worker that starts later does not run it.
 *
 * The submission's id is the update's id. It is new each time, because Temporal answers a repeated id with the old
 * answer. The request key identifies equal requests.
 * @throws SlipwayError SLIPWAY_NO_WORKER, SLIPWAY_TEMPORAL_UNREACHABLE, SLIPWAY_USAGE if the target rejects the
 * request.
 */
export async function submitRelease(
  temporal: TemporalConnection,
  asked: ReleaseRequest,
): Promise<ReleaseAnswer> {
  const request = { ...asked, trace: currentTrace() };
  const submission = randomUUID();
  const { settings } = temporal;
  const from = Date.now();
  try {
    return await submitWhilePolled(temporal, request, submission);
  } catch (error) {
    const silent = isUntaken(error);
    const waitedS = Math.round((Date.now() - from) / 1_000);
    const workflowId = targetWorkflowId(request.target);
    const why = silent ? await whyNoAnswer(temporal, workflowId) : undefined;
    const untaken = `no worker accepted the release within ${waitedS} s${why === undefined ? '' : `, because ${why.message}`}`;
    const failed = silent
      ? noWorker(settings, untaken, error, why?.hint)
      : (refusal(error) ?? temporalError(error, settings));
    if (!silent && !isTemporalSilent(error) && !isSealed(error)) throw failed;
    const delivered = await withdrawSubmission(temporal, request, submission);
    if (silent) await refuseStuck(temporal, workflowId);
    throw withdrawn(failed, delivered);
  }
}

/** Repeats the update under one id until a worker accepts it, while workers poll and the target is not stuck. */
async function submitWhilePolled(
  temporal: TemporalConnection,
  request: ReleaseRequest,
  updateId: string,
): Promise<ReleaseAnswer> {
  const { client, settings } = temporal;
  const { target, recordStore } = request;
  const workflowId = targetWorkflowId(target);
  const submit = (id: string, waitMs: number): Promise<ReleaseAnswer> =>
    client.withDeadline(Date.now() + waitMs, async () => {
      const update = await client.workflow.startUpdateWithStart(submitReleaseUpdate, {
        startWorkflowOperation: new WithStartWorkflowOperation<TargetWorkflow>(
          WORKFLOW_TYPES.target,
          targetStart(target, recordStore, settings.taskQueue),
        ),
        waitForStage: WorkflowUpdateStage.ACCEPTED,
        updateId: id,
        args: [request],
      });
      return update.result();
    });
  const giveUpAt = Date.now() + LONGEST_SUBMIT_MS;
  /** The newest poll, and when it was first seen. */
  let polled = { at: 0, seenAt: Date.now() };
  for (let waitMs = SUBMIT_TIMEOUT_MS; ; waitMs = SUBMIT_AGAIN_MS) {
    try {
      return await submit(updateId, waitMs).catch(async (error: unknown) => {
        const state = await stateAfterReset(temporal, workflowId, error);
        if (state === undefined) throw error;
        // The target may have taken it before its reset. If not, its withdrawal counts for this id, too.
        const taken = state.submissions.find(({ id }) => id === updateId)?.answer;
        return taken ?? submit(`${updateId} ${randomUUID()}`, waitMs);
      });
    } catch (error) {
      if (!isUntaken(error) || Date.now() > giveUpAt) throw error;
      const at = await lastPoll(temporal).catch(() => 0);
      if (at > polled.at) polled = { at, seenAt: Date.now() };
      else if (Date.now() - polled.seenAt >= HANGS_AFTER_MS) throw error;
      const stuck = await findStuckTask(temporal, workflowId).catch(() => undefined);
      if (stuck !== undefined || (await whyNoAnswer(temporal, workflowId)) !== undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/**
 * Withdraws an unanswered submission by signal. Temporal keeps the signal until a worker runs, and the target accepts
 * the submission and its withdrawal in either order.
 * @returns whether Temporal has accepted the signal.
 */
async function withdrawSubmission(
  { client, settings }: TemporalConnection,
  { target, recordStore, requestedBy: { who, from } }: ReleaseRequest,
  submission: string,
): Promise<boolean> {
  const message: WithdrawMessage = { submission, who, from, reason: 'the command got no answer' };
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

function withdrawn(failed: unknown, taken: boolean): unknown {
  if (!(failed instanceof SlipwayError)) return failed;
  const { code, message, place, hint, cause } = failed;
  const became = taken
    ? 'the release was withdrawn: a worker that returns later does not run it'
    : 'the release could not be withdrawn and may still start: see "slipway status"';
  return new SlipwayError(code, `${message}; ${became}`, { place, hint, cause });
}

/**
 * Asks a target to roll back. If no worker answers, sends a signal instead, which Temporal keeps until a worker runs.
 * Both carry the same request id, so that the target handles the request once.
 */
export async function rollBack(
  temporal: TemporalConnection,
  workflowId: string,
  message: RollbackMessage,
): Promise<RollbackTaken> {
  const identified = { ...message, requestId: message.requestId ?? randomUUID(), trace: currentTrace() };
  const answer = await ask(temporal, workflowId, {
    update: rollbackUpdate,
    signal: rollbackSignal,
    message: identified,
    updateId: identified.requestId,
  });
  if (answer !== undefined) return { ...answer, via: 'update' };
  return {
    requestId: identified.requestId,
    disposition: 'queued',
    reason: 'the target has not answered within 5 s; Temporal keeps the request until a worker takes it',
    serves: null,
    onHold: null,
    via: 'signal',
  };
}

/** Sets or releases a target's hold. Temporal answers a repeated request id with the first answer. */
export async function setHold(
  temporal: TemporalConnection,
  workflowId: string,
  holding: boolean,
  message: HoldMessage,
): Promise<HoldTaken> {
  const onHold = await ask(temporal, workflowId, {
    update: holding ? holdUpdate : unholdUpdate,
    signal: holding ? holdSignal : unholdSignal,
    message,
    updateId: message.requestId,
  });
  return onHold === undefined ? { onHold: null, via: 'signal' } : { onHold, via: 'update' };
}

/** Temporal answers, the target does not: no worker for it, or it cannot read its earlier state. */
export function isUnanswered(error: unknown): error is SlipwayError {
  return hasCode(error, 'SLIPWAY_NO_WORKER', 'SLIPWAY_WORKFLOW_STUCK', 'SLIPWAY_TARGET_UNREADABLE');
}

/**
 * A target's state and what runs on it; `undefined` if it has never accepted a release. A target that was terminated
 * is shown as it will find itself when it starts again.
 * @throws SlipwayError SLIPWAY_NO_WORKER, SLIPWAY_WORKFLOW_STUCK, SLIPWAY_TEMPORAL_UNREACHABLE,
 * SLIPWAY_TARGET_UNREADABLE if it was restarted and has not read its earlier state yet.
 */
export async function viewTarget(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<TargetView | undefined> {
  // Check first, because a query without a worker only times out and does not say why.
  const found = await describeWorkflow(temporal, workflowId);
  if (found === undefined) return undefined;
  await requireWorker(temporal);
  const view = await queryTarget(temporal, workflowId);
  return view === undefined || found.status.name === 'RUNNING' ? view : withEndedWork(temporal, view);
}

/** The view of a terminated target, whose release or rollback may have ended since. */
async function withEndedWork(temporal: TemporalConnection, view: TargetView): Promise<TargetView> {
  const { state, running } = view;
  if (running === null) return view;
  const handle = temporal.client.workflow.getHandle(running.workflowId);
  const found = await describeWorkflow(temporal, running.workflowId);
  if (found?.status.name === 'RUNNING') return view;
  const now = new Date().toISOString();
  if (found === undefined) return { state: endUnstarted(state, running, now), running: null };
  const hasNoResult = (error: unknown): boolean => error instanceof WorkflowFailedError;
  const result = await callOrNone(temporal, hasNoResult, () => workflowResult<ReleaseResult>(handle));
  const ended = result === undefined ? endLost(state, running, now) : recordResult(state, result, 0);
  return { state: ended, running: null };
}

/** The same for an existing target while a worker polls, in one call. @throws as {@link viewTarget}. */
export async function queryTarget(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<TargetView | undefined> {
  const { client, settings } = temporal;
  try {
    const view = await client.withDeadline(Date.now() + QUERY_TIMEOUT_MS, () =>
      client.workflow.getHandle(workflowId).query(viewQuery),
    );
    // An empty state would look like a target that has never released.
    if (view.recovering === true) throw reading(workflowId, view);
    return view;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    await refuseStuck(temporal, workflowId);
    // Temporal has just answered, so it is the worker that does not answer: it was killed or hung a moment ago.
    if (isWorkerSilent(error) || isOutOfTime(error)) {
      await requireWorkerOf(temporal, workflowId);
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

/** The progress of a running release or rollback; `undefined` if it has just ended and is gone, or does not answer. */
export function readProgress(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<Progress | undefined> {
  const isGoneOrSilent = (error: unknown): boolean =>
    error instanceof WorkflowNotFoundError ||
    isWorkerSilent(error) ||
    isTemporalSilent(error) ||
    // A worker that cannot replay the release answers with the reason.
    error instanceof QueryNotRegisteredError;
  const ask = () => temporal.client.workflow.getHandle(workflowId).query(progressQuery);
  return callOrNone(temporal, isGoneOrSilent, ask, ASK_TIMEOUT_MS);
}

export interface ListedTarget {
  readonly workflowId: string;
  readonly name: string;
}

/** The targets whose workflows run in the namespace, by name. Temporal's list is up to a few seconds late. */
export async function listTargets(temporal: TemporalConnection): Promise<readonly ListedTarget[]> {
  const found = await listRunning(temporal, WORKFLOW_TYPES.target, (run) => ({
    workflowId: run.workflowId,
    name: targetNameOf(run),
  }));
  return found.sort((one, other) => one.name.localeCompare(other.name));
}

/** A target by its workflow id, even if Temporal's list does not show it yet; `undefined` if there is none. */
export async function findTarget(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<ListedTarget | undefined> {
  const found = await describeWorkflow(temporal, workflowId);
  if (found?.type !== WORKFLOW_TYPES.target) return undefined;
  return { workflowId, name: targetNameOf(found) };
}
