import { Context } from '@temporalio/activity';
import { type Client, WithStartWorkflowOperation } from '@temporalio/client';
import { defineSearchAttributeKey, type UpdateDefinition } from '@temporalio/common';

import type { ReleaseRequest } from '../../domain/release/release.ts';
import { SEARCH_ATTRIBUTES } from '../../domain/searchAttributes.ts';
import type { ReleaseAnswer } from '../../domain/target/targetState.ts';
import {
  submitReleaseUpdate,
  targetRun,
  targetStart,
  type TargetView,
  viewQuery,
} from '../../messages/target.ts';
import { type TargetWorkflow, WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import { currentTrace } from '../../traces/trace.ts';
import { ifThere } from '../askTemporal.ts';

/** Starts a target together with an update, if it does not run. */
export function startTarget({ target, recordStore }: Pick<ReleaseRequest, 'target' | 'recordStore'>) {
  return new WithStartWorkflowOperation<TargetWorkflow>(
    WORKFLOW_TYPES.target,
    targetStart(target, recordStore, Context.current().info.taskQueue),
  );
}

/**
 * Submits a release to its target. The release joins the trace of the calling workflow.
 * @param submission - the update's id: a repeated submission gets the first one's answer.
 */
export function submitToTarget(
  client: Client,
  request: ReleaseRequest,
  submission: string,
): Promise<ReleaseAnswer> {
  return client.workflow.executeUpdateWithStart(submitReleaseUpdate, {
    args: [{ ...request, trace: currentTrace() }],
    updateId: submission,
    startWorkflowOperation: startTarget(request),
  });
}

/**
 * Sends an update to a target. A terminated one starts again, and reads its earlier state first.
 * @throws WorkflowNotFoundError if the target has never taken a release.
 */
export async function updateTarget<Answer, Message>(
  client: Client,
  workflowId: string,
  update: UpdateDefinition<Answer, [Message]>,
  options: { readonly args: [Message]; readonly updateId?: string },
): Promise<Answer> {
  const target = client.workflow.getHandle(workflowId);
  const answer = await ifThere(target.executeUpdate(update, options));
  if (answer !== undefined) return answer;
  const { typedSearchAttributes } = await target.describe();
  const name = typedSearchAttributes.get(defineSearchAttributeKey(SEARCH_ATTRIBUTES.target, 'KEYWORD'));
  await client.workflow.start(WORKFLOW_TYPES.target, {
    ...targetRun(workflowId, name ?? workflowId, Context.current().info.taskQueue),
    args: [],
  });
  return target.executeUpdate(update, options);
}

/** @returns `undefined` if the target has never taken a release. */
export async function viewTarget(client: Client, workflowId: string): Promise<TargetView | undefined> {
  const view = await ifThere(client.workflow.getHandle(workflowId).query(viewQuery));
  if (view?.recovering === true) throw new Error(`${workflowId} reads its earlier state`);
  return view;
}
