import { type PromotionRequest, promotionWorkflowId } from '../domain/promotion/promotion.ts';
import { SEARCH_ATTRIBUTES } from '../domain/searchAttributes.ts';
import { WORKFLOW_TASK_TIMEOUT_MS } from './workflowTypes.ts';

/** The options with which every client starts a promotion. */
export function promotionStart(request: PromotionRequest, taskQueue: string) {
  const { name, from, to } = request;
  return {
    workflowId: promotionWorkflowId(request),
    taskQueue,
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
    args: [{ request }] as [{ readonly request: PromotionRequest }],
    typedSearchAttributes: [
      { key: { name: SEARCH_ATTRIBUTES.target, type: 'KEYWORD' as const }, value: to.name },
      { key: { name: SEARCH_ATTRIBUTES.outcome, type: 'KEYWORD' as const }, value: 'running' },
    ],
    staticSummary: `promotion ${name}: ${from.name} to ${to.name}`,
  };
}
