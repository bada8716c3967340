import type { Actor } from '../actor.ts';
import { cutText } from '../bounds.ts';
import type { HookDecision, HookRow, HookState, HookWork } from './hookState.ts';

/** Of a text that says who asked, as JSON. */
const ACTOR_MAX_BYTES = 900;

/** The one who asks a target: the event, by the rule that it matched. */
export function hookActor(hook: string, { event, rule }: Pick<HookWork, 'event' | 'rule'>): Actor {
  return {
    who: `hook ${hook}`,
    from: `the rule "${rule}", event ${event.id}`,
    reason: cutText(event.title, ACTOR_MAX_BYTES),
  };
}

/** The id of what is asked of a target: the same event asks by the same rule once. */
export function hookRequestId({ event, rule, target }: Pick<HookWork, 'event' | 'rule' | 'target'>): string {
  return `hook-${event.id}-${rule}-${target}`;
}

/** What became of an event, in one line. */
export function decisionText({ rule, target, do: action, state, note, until }: HookDecision): string {
  const waits = until === undefined ? '' : `, until ${until}`;
  return `${rule}: ${action} ${target} ${state.replaceAll('_', ' ')}: ${note}${waits}`;
}

const SHOWN = 20;

/** What a hook was told last, in Markdown: Temporal's own UI shows it. */
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
  const became = decisions.length === 0 ? ['no rule matches'] : decisions.map(decisionText);
  return `- ${at} ${title} (${id}${times})\n${became.map((line) => `  - ${line}`).join('\n')}`;
}
