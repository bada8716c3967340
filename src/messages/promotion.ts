import type { PlaceRules, PlaceStanding } from '../domain/promotion/places.ts';
import { type PromotionRequest, promotionWorkflowId } from '../domain/promotion/promotion.ts';
import { attribute } from '../domain/searchAttributes.ts';
import { defineQuery, defineSignal } from './define.ts';
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

/** A promotion requests or keeps a place. Arguments: its id, and the rules of its worker. */
export const enterPlaceSignal = defineSignal<[string, PlaceRules]>('enterPlace');
export const leavePlaceSignal = defineSignal<[string]>('leavePlace');
export const placeQuery = defineQuery<PlaceStanding, [string]>('place');

/** Whether a raw signal names a promotion. */
export function isPlaceId(id: unknown): id is string {
  return typeof id === 'string' && id !== '';
}

/** Whether a raw signal carries rules. */
export function arePlaceRules(rules: unknown): rules is PlaceRules {
  if (typeof rules !== 'object' || rules === null) return false;
  const { atOnce, apartMs } = rules as Partial<PlaceRules>;
  return isCount(atOnce) && isCount(apartMs);
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
