import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { executeChild, ParentClosePolicy } from '@temporalio/workflow';

import { promotionWorkflowId } from '../../domain/promotion/promotion.ts';
import { type PromotionInput, WORKFLOW_TASK_TIMEOUT_MS } from '../../messages/workflowTypes.ts';
import { promotion } from '../promotion/promotion.ts';
import { shortSummary } from '../steps.ts';

/**
 * One time at which a schedule comes round. Temporal gives each time an id of its own; the promotion itself has one that
 * is its name's alone, so that a promotion that a person started is not started beside.
 *
 * @returns how the promotion ended, in one line.
 * @throws ChildWorkflowFailure if the promotion needs a person: the schedule's list shows this time as failed, too.
 */
export async function promotionTurn(input: PromotionInput): Promise<string> {
  const { request } = input;
  try {
    const { outcome, reason } = await executeChild(promotion, {
      workflowId: promotionWorkflowId(request),
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      args: [input],
      // Ending a turn by hand does not end what it began.
      parentClosePolicy: ParentClosePolicy.ABANDON,
      staticSummary: shortSummary(`promotion ${request.name}: ${request.from.name} to ${request.to.name}`),
    });
    return `${outcome}: ${reason}`;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return 'a promotion of this name was under way already';
  }
}
