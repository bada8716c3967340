import type { InterventionKind } from '../../domain/intervention/intervention.ts';
import { promotionAddress, releaseAddress, targetAddress } from '../../domain/dashboard/addresses.ts';

/** The actions on a target. */
export const TARGET_ACTIONS = ['rollback', 'hold', 'unhold', 'quarantine', 'unquarantine'] as const;

export type TargetAction = (typeof TARGET_ACTIONS)[number];

/** The page of an action on a target. */
export function targetActionAddress(workflowId: string, action: TargetAction): string {
  return `${targetAddress(workflowId)}/${action}`;
}

/** The page of an action on a release. */
export function releaseActionAddress(
  targetWorkflowId: string,
  releaseId: string,
  kind: InterventionKind,
): string {
  return `${releaseAddress(targetWorkflowId, releaseId)}/${kind}`;
}

/** The page of an action on a promotion. */
export function promotionActionAddress(workflowId: string, kind: InterventionKind): string {
  return `${promotionAddress(workflowId)}/${kind}`;
}
