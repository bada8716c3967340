import { targetAddress } from '../../domain/dashboard/addresses.ts';
import type { HookDecision } from '../../domain/hooks/hookState.ts';
import { actionText } from '../../domain/hooks/hookText.ts';
import { hookEventsQuery } from '../../messages/hooks.ts';
import { ID_PREFIXES } from '../../messages/workflowTypes.ts';
import { answerHook, viewHook } from '../../temporal/client/hooks/hookClient.ts';
import { momentText } from '../page/marks.tsx';
import type { PageContext } from '../pageContext.ts';
import type { HookAnswerKind } from './actionAddresses.ts';
import type { ActionSubject } from './actionSubject.ts';

interface Answered {
  /** The workflow ids of the target whose page the person came from, and of the hook. */
  readonly targetId: string;
  readonly hookId: string;
  readonly event: string;
  readonly answer: HookAnswerKind;
}

/** An answer to an event that waits for approval; `undefined`: the hook has no such event for the target. */
export async function hookSubject(
  { temporal, watches }: PageContext,
  { targetId, hookId, event, answer }: Answered,
): Promise<ActionSubject | undefined> {
  if (!hookId.startsWith(ID_PREFIXES.hook)) return undefined;
  const target = await watches.target(targetId);
  if (target === undefined) return undefined;
  const events = await viewHook(temporal, { workflowId: hookId }, hookEventsQuery);
  const row = events?.rows.find(({ id }) => id === event);
  if (row?.decisions.some((decision) => decision.targetId === targetId) !== true) return undefined;
  const waiting = row.decisions.filter(({ state }) => state === 'needs_approval');
  const isApproval = answer === 'approve';
  const button = isApproval ? 'Approve' : 'Reject';
  return {
    order: {
      title: `${button} “${row.title}”`,
      button,
      sentences: waiting.map((decision) => waitingSentence(decision, isApproval)),
      problem: waiting.length > 0 ? undefined : 'the event waits for no approval any more',
    },
    back: { address: targetAddress(targetId), name: target.name },
    send: async (_, message) => {
      await answerHook(temporal, { workflowId: hookId }, { event, approved: isApproval, ...message });
      return isApproval
        ? `“${row.title}” is approved. The outcome is shown under Hooks.`
        : `“${row.title}” is rejected: nothing is changed.`;
    },
  };
}

/** One answer is for all rules and targets of the event, so each of them is named. */
function waitingSentence(decision: HookDecision, isApproval: boolean): string {
  const { rule, until } = decision;
  const action = actionText(decision);
  const deadline = until === undefined ? '' : ` Unanswered, it is rejected at ${momentText(until)}.`;
  return isApproval
    ? `The rule “${rule}” will ${action} now.${deadline}`
    : `The rule “${rule}” will not ${action}.`;
}
