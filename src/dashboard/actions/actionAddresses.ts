import type { InterventionKind } from '../../domain/intervention/intervention.ts';
import { promotionAddress, releaseAddress, targetAddress } from '../../domain/dashboard/addresses.ts';

export const TARGET_ACTIONS = ['rollback', 'hold', 'unhold', 'quarantine', 'unquarantine'] as const;

export type TargetAction = (typeof TARGET_ACTIONS)[number];

export function targetActionAddress(workflowId: string, action: TargetAction): string {
  return `${targetAddress(workflowId)}/${action}`;
}

export function releaseActionAddress(
  targetWorkflowId: string,
  releaseId: string,
  kind: InterventionKind,
): string {
  return `${releaseAddress(targetWorkflowId, releaseId)}/${kind}`;
}

export function promotionActionAddress(workflowId: string, kind: InterventionKind): string {
  return `${promotionAddress(workflowId)}/${kind}`;
}

export const HOOK_ANSWERS = ['approve', 'reject'] as const;

export type HookAnswerKind = (typeof HOOK_ANSWERS)[number];

export function hookAnswerAddress(
  targetId: string,
  hookId: string,
  event: string,
  answer: HookAnswerKind,
): string {
  return `${targetAddress(targetId)}/events/${encodeURIComponent(hookId)}/${encodeURIComponent(event)}/${answer}`;
}
