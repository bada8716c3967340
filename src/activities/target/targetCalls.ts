import { randomUUID } from 'node:crypto';

import { Context } from '@temporalio/activity';
import { type Client, WithStartWorkflowOperation } from '@temporalio/client';
import type { UpdateDefinition } from '@temporalio/common';

import type { ReleaseRequest } from '../../domain/release/release.ts';
import { type RecordedTarget, targetWorkflowId } from '../../domain/target/targetSpec.ts';
import type { ReleaseAnswer, RollbackAnswer } from '../../domain/target/targetState.ts';
import {
  lookupQuery,
  type RollbackMessage,
  rollbackUpdate,
  submitReleaseUpdate,
  targetAgain,
  targetStart,
  type TargetView,
  viewQuery,
} from '../../messages/target.ts';
import { type TargetWorkflow, WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import { currentTrace } from '../../traces/trace.ts';
import { ifThere, isNotReady } from '../askTemporal.ts';
import { callingWorkflow } from '../callingWorkflow.ts';

/** Starts a target together with an update, if it does not run. */
export function startTarget({ target, recordStore }: RecordedTarget) {
  return new WithStartWorkflowOperation<TargetWorkflow>(
    WORKFLOW_TYPES.target,
    targetStart(target, recordStore, Context.current().info.taskQueue),
  );
}

/**
 * Submits a release to its target. The release joins the trace of the calling workflow.
 * @param submission - the update's id: a repeated submission gets the first one's answer.
 */
export async function submitToTarget(
  client: Client,
  request: ReleaseRequest,
  submission: string,
): Promise<ReleaseAnswer> {
  const submit = (updateId: string): Promise<ReleaseAnswer> =>
    client.workflow.executeUpdateWithStart(submitReleaseUpdate, {
      args: [{ ...request, trace: currentTrace() }],
      updateId,
      startWorkflowOperation: startTarget(request),
    });
  try {
    return await submit(submission);
  } catch (error) {
    if (!isNotReady(error)) throw error;
    // The target may have taken it before its reset. If not, the withdrawal of the submission counts for this id, too.
    const view = await viewTarget(client, targetWorkflowId(request.target));
    const taken = view?.state.submissions.find(({ id }) => id === submission)?.answer;
    return taken ?? submit(`${submission} ${randomUUID()}`);
  }
}

/**
 * Sends an update to a target. A terminated one starts again, and reads its earlier state first.
 * @throws WorkflowNotFoundError as {@link startAgain}.
 */
export async function updateTarget<Answer, Message>(
  client: Client,
  workflowId: string,
  update: UpdateDefinition<Answer, [Message]>,
  options: { readonly args: [Message]; readonly updateId?: string },
  kept?: RecordedTarget,
): Promise<Answer> {
  const target = client.workflow.getHandle(workflowId);
  const { args } = options;
  const sent = target.executeUpdate(update, options).catch((error: unknown) => {
    if (options.updateId === undefined || !isNotReady(error)) throw error;
    return target.executeUpdate(update, { args });
  });
  const answer = await ifThere(sent);
  if (answer !== undefined) return answer;
  await startAgain(client, workflowId, kept);
  return target.executeUpdate(update, options);
}

/**
 * Asks a target for a rollback, with {@link updateTarget}.
 * @returns the first answer, even if an earlier attempt has lost it: perhaps nothing runs for the request.
 */
export async function askForRollback(
  client: Client,
  workflowId: string,
  message: RollbackMessage,
  kept: RecordedTarget,
): Promise<RollbackAnswer> {
  const { requestId = '' } = message;
  const answer = await updateTarget(client, workflowId, rollbackUpdate, { args: [message] }, kept);
  if (answer.disposition !== 'joined' || answer.requestId !== requestId) return answer;
  const first = await client.workflow.getHandle(workflowId).query(lookupQuery, requestId);
  return first?.state === 'answered' ? first.answer : answer;
}

/**
 * Starts a target again if it was terminated: it waits for what it left running, and releases what it left queued.
 * @returns whether it was.
 * @throws WorkflowNotFoundError if Temporal has no run of it, and `kept` is absent.
 */
export async function startAgain(
  client: Client,
  workflowId: string,
  kept?: RecordedTarget,
): Promise<boolean> {
  const describe = () => client.workflow.getHandle(workflowId).describe();
  if ((await ifThere(describe()))?.status.name === 'RUNNING') return false;
  // The calling activity may have the task queue of polls.
  const { taskQueue } = await client.workflow.getHandle(callingWorkflow().workflowId).describe();
  const start =
    kept === undefined
      ? targetAgain(await describe(), taskQueue)
      : targetStart(kept.target, kept.recordStore, taskQueue);
  await client.workflow.start(WORKFLOW_TYPES.target, start);
  return true;
}

/** @returns `undefined` if the target has never taken a release. */
export async function viewTarget(client: Client, workflowId: string): Promise<TargetView | undefined> {
  const view = await ifThere(client.workflow.getHandle(workflowId).query(viewQuery));
  if (view === undefined) return undefined;
  // What ran when the target was terminated may have ended, and changed what serves.
  const isBehind = view.running !== null && (await startAgain(client, workflowId));
  if (isBehind || view.recovering === true) throw new Error(`${workflowId} reads its earlier state`);
  return view;
}
