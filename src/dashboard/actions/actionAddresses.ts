import type { InterventionKind } from '../../domain/intervention/intervention.ts';
import { promotionAddress, releaseAddress, targetAddress } from '../../domain/dashboard/addresses.ts';

/** What a person may ask of a target. */
export const TARGET_ACTIONS = ['rollback', 'hold', 'unhold', 'quarantine', 'unquarantine'] as const;

export type TargetAction = (typeof TARGET_ACTIONS)[number];

/** The page on which a person asks something of a target. */
export function targetActionAddress(workflowId: string, action: TargetAction): string {
  return `${targetAddress(workflowId)}/${action}`;
}

/** The page on which a person says something to a release. */
export function releaseActionAddress(
  targetWorkflowId: string,
  releaseId: string,
  kind: InterventionKind,
): string {
  return `${releaseAddress(targetWorkflowId, releaseId)}/${kind}`;
}

/** The page on which a person says something to a promotion. */
export function promotionActionAddress(workflowId: string, kind: InterventionKind): string {
  return `${promotionAddress(workflowId)}/${kind}`;
}
