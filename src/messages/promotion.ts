import { type PromotionRequest, promotionWorkflowId } from '../domain/promotion/promotion.ts';
import { attribute } from '../domain/searchAttributes.ts';
import { WORKFLOW_TASK_TIMEOUT_MS } from './workflowTypes.ts';

/** The options with which every client starts a promotion. */
export function promotionStart(request: PromotionRequest, taskQueue: string) {
  const { name, from, to } = request;
  return {
    workflowId: promotionWorkflowId(request),
    taskQueue,
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
    args: [{ request }] as [{ readonly request: PromotionRequest }],
    typedSearchAttributes: [attribute('target', to.name), attribute('outcome', 'running')],
    staticSummary: `promotion ${name}: ${from.name} to ${to.name}`,
  };
}
