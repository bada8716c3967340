import type { Actor } from '../actor.ts';
import { cutText } from '../bounds.ts';
import { exactText } from '../scalars.ts';
import type { HookAction } from './hookEvent.ts';
import type { HookDecision, HookRow, HookState, HookWork } from './hookState.ts';

/** The limit of an actor's texts, as JSON. */
const ACTOR_MAX_BYTES = 900;

/** The actor of an order: the event and the rule that it matched. */
export function hookActor(
  hook: string,
  { event, rule }: Pick<HookWork, 'event' | 'rule'>,
  approvedBy?: Actor,
): Actor {
  const approved = approvedBy === undefined ? '' : `, approved by ${approvedBy.who}`;
  return {
    who: `hook ${hook}`,
    from: `the rule "${rule}", event ${event.id}${approved}`,
    reason: cutText(event.title, ACTOR_MAX_BYTES),
  };
}

/** Who approved or rejected, and why: `approved by bo (the answers are worse)`. */
export function answeredBy(answer: 'approved' | 'rejected', { who, reason }: Actor): string {
  return `${answer} by ${who}${reason === undefined ? '' : ` (${reason})`}`;
}

/** The request id of an order, so that an event and a rule of a hook act once on a target. */
export function hookRequestId(
  hook: string,
  { event, rule, target }: Pick<HookWork, 'event' | 'rule' | 'target'>,
): string {
  return `hook-${hook}-${event.id}-${rule}-${target}`;
}

const ACTIONS: Readonly<Record<HookAction, string>> = {
  release: 'release on',
  promotion: 'promote to',
  hold: 'hold',
  abort: 'abort what runs on',
  rollback: 'roll back',
};

/** What a rule does, in words: `roll back production`. */
export function actionText({ do: action, target }: Pick<HookDecision, 'do' | 'target'>): string {
  return `${ACTIONS[action]} ${target}`;
}

/** A decision about an event, in one line. */
export function decisionText({ rule, target, do: action, state, note, until }: HookDecision): string {
  const waits = until === undefined ? '' : `, until ${exactText(until)}`;
  return `${rule}: ${action} ${target} ${state.replaceAll('_', ' ')}: ${note}${waits}`;
}

const SHOWN = 20;

/** The newest events of a hook, in Markdown, for Temporal's UI. */
export function describeHook(name: string, { rows, queue, asks }: HookState): string {
  const waiting = [
    ...(queue.length === 0 ? [] : [`${queue.length} to decide`]),
    ...(asks.length === 0 ? [] : [`${asks.length} to approve`]),
  ];
  return [
    `**hook ${name}**${waiting.length === 0 ? '' : `: ${waiting.join(', ')}`}`,
    '',
    ...rows.slice(-SHOWN).reverse().map(rowText),
  ].join('\n');
}

function rowText({ id, title, at, deliveries, decisions }: HookRow): string {
  const times = deliveries === 1 ? '' : `, delivered ${deliveries} times`;
  const lines = decisions.length === 0 ? ['no rule matches'] : decisions.map(decisionText);
  return `- ${exactText(at)} ${title} (${id}${times})\n${lines.map((line) => `  - ${line}`).join('\n')}`;
}
