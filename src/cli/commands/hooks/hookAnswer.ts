import { loadConfig } from '../../../config/loadConfig.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { answerHook } from '../../../temporal/client/hooks/hookClient.ts';
import type { CommandContext, MessageOptions } from '../../context.ts';
import { withTemporal } from '../../openTemporal.ts';
import { readRequester } from '../../provenance.ts';
import { listeningHooks } from './listeningHooks.ts';

/**
 * `slipway hooks approve EVENT` and `slipway hooks reject EVENT`: answers an event that waits for approval.
 * @throws SlipwayError SLIPWAY_WRONG_MOMENT if the event waits for no approval.
 */
export async function runHookAnswerCommand(
  context: CommandContext,
  approved: boolean,
  event: string,
  options: MessageOptions,
): Promise<number> {
  const { output } = context;
  const file = await loadConfig(options.config);
  const hooks = await listeningHooks(context, file);
  const by = await readRequester(context, file.folder, options.reason);
  return withTemporal(context, async (temporal) => {
    for (const hook of hooks) {
      try {
        await answerHook(temporal, hook, { ...by, event, approved });
      } catch (error) {
        if (error instanceof SlipwayError && error.code === 'SLIPWAY_WRONG_MOMENT') continue;
        throw error;
      }
      output.event({ event: 'hook_answer', hook: hook.name, id: event, approved });
      output.print(
        `${event} of ${hook.name} is ${approved ? 'approved' : 'rejected'}: slipway hooks list ${hook.name}`,
      );
      return 0;
    }
    const hint = 'list the events: slipway hooks list';
    throw new SlipwayError('SLIPWAY_WRONG_MOMENT', `no event "${event}" waits for approval`, { hint });
  });
}
