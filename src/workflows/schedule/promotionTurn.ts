import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { executeChild, ParentClosePolicy, workflowInfo } from '@temporalio/workflow';

import { formatDuration } from '../../domain/duration.ts';
import { promotionWorkflowId } from '../../domain/promotion/promotion.ts';
import { type PromotionInput, WORKFLOW_TASK_TIMEOUT_MS } from '../../messages/workflowTypes.ts';
import { promotion } from '../promotion/promotion.ts';
import { shortSummary } from '../steps.ts';

/**
 * One run of a schedule. Temporal gives each run its own id. The promotion's workflow id depends only on its name, so
 * that a schedule starts no second promotion beside one that a person started.
 * @returns how the promotion ended, in one line.
 * @throws ChildWorkflowFailure if the promotion needs a person: then the schedule also shows this run as failed.
 */
export async function promotionTurn(input: PromotionInput): Promise<string> {
  const { request, schedule } = input;
  const lateMs = Date.now() - workflowInfo().startTime.getTime();
  if (schedule !== undefined && lateMs > schedule.catchUpMs)
    return `missed: no worker ran for ${formatDuration(lateMs)}`;
  try {
    const { outcome, reason } = await executeChild(promotion, {
      workflowId: promotionWorkflowId(request),
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      args: [input],
      // Terminating a run does not end its promotion. Canceling one cancels its promotion too, which restores.
      parentClosePolicy: ParentClosePolicy.ABANDON,
      staticSummary: shortSummary(`promotion ${request.name}: ${request.from.name} to ${request.to.name}`),
    });
    return `${outcome}: ${reason}`;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return 'a promotion of this name was already running';
  }
}
