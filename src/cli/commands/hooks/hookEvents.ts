import { loadConfig } from '../../../config/loadConfig.ts';
import { onSlipwayError, SlipwayError } from '../../../domain/errors.ts';
import type { HookDecision, HookRow } from '../../../domain/hooks/hookState.ts';
import { decisionText } from '../../../domain/hooks/hookText.ts';
import { hookEventsQuery } from '../../../messages/hooks.ts';
import { answerHook, viewHook } from '../../../temporal/client/hooks/hookClient.ts';
import type { CommandContext, FileOptions, MessageOptions } from '../../context.ts';
import { withTemporal } from '../../openTemporal.ts';
import { readRequester } from '../../provenance.ts';
import { agoText, MARKS, type Style } from '../../ui/text.ts';
import { listeningHooks } from './listeningHooks.ts';

/** `slipway hooks list [HOOK]`: prints the events that hooks received, newest first, and the decisions about them. */
export async function runHookListCommand(
  context: CommandContext,
  wanted: string | undefined,
  { config: path, last }: FileOptions & { readonly last: number },
): Promise<void> {
  const { output } = context;
  const hooks = await listeningHooks(context, await loadConfig(path), wanted);
  return withTemporal(context, async (temporal) => {
    for (const hook of hooks) {
      const { rows: all, past } = (await viewHook(temporal, hook, hookEventsQuery)) ?? { rows: [], past: {} };
      const rows = all.slice(-last).reverse();
      output.print(output.style.strong(hook.name));
      if (rows.length === 0) output.print('  has received no events yet');
      for (const row of rows) {
        output.event({ event: 'hook_event', hook: hook.name, ...row });
        for (const line of rowLines(row, Date.now(), output.style)) output.print(`  ${line}`);
      }
      const counts = Object.entries(past).map(([state, count]) => `${count} ${state.replaceAll('_', ' ')}`);
      if (counts.length === 0) continue;
      output.event({ event: 'hook_past', hook: hook.name, counts: past });
      output.print(output.style.faint(`  earlier: ${counts.join(', ')}`));
    }
  });
}

function rowLines(row: HookRow, now: number, style: Style): readonly string[] {
  const { id, title, status, at, deliveries, decisions } = row;
  const times = deliveries === 1 ? '' : `, delivered ${deliveries} times`;
  return [
    `${title} ${style.faint(`${status}, ${agoText(at, now)}${times}, ${id}`)}`,
    ...(decisions.length === 0
      ? [style.faint('  no rule matches')]
      : decisions.map((decision) => `  ${mark(decision, style)} ${decisionText(decision)}`)),
  ];
}

function mark({ state }: HookDecision, style: Style): string {
  if (state === 'carried_out') return style.mark(true);
  if (state === 'failed') return style.mark(false);
  return state === 'needs_approval' || state === 'waiting' ? style.warn(MARKS.running) : MARKS.skipped;
}

/**
 * `slipway hooks approve EVENT` and `slipway hooks reject EVENT`: answers an event that waits for approval.
 * @throws SlipwayError SLIPWAY_WRONG_MOMENT if the event waits for no approval.
 */
export async function runHookAnswerCommand(
  context: CommandContext,
  approved: boolean,
  event: string,
  options: MessageOptions,
): Promise<void> {
  const { output } = context;
  const file = await loadConfig(options.config);
  const hooks = await listeningHooks(context, file);
  const by = await readRequester(context, file.folder, options.reason);
  return withTemporal(context, async (temporal) => {
    for (const hook of hooks) {
      const isAnswered = await answerHook(temporal, hook, { ...by, event, approved }).then(
        () => true,
        onSlipwayError(() => false, 'SLIPWAY_WRONG_MOMENT'),
      );
      if (!isAnswered) continue;
      output.event({ event: 'hook_answer', hook: hook.name, id: event, approved });
      output.print(
        `${event} of ${hook.name} is ${approved ? 'approved' : 'rejected'}: slipway hooks list ${hook.name}`,
      );
      return;
    }
    const hint = 'list the events: slipway hooks list';
    throw new SlipwayError('SLIPWAY_WRONG_MOMENT', `no event "${event}" waits for approval`, { hint });
  });
}
