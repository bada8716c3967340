import { loadConfig } from '../../../config/loadConfig.ts';
import { setHold } from '../../../temporal/client/target/targetClient.ts';
import type { CommandContext, MessageOptions } from '../../context.ts';
import { withTemporal } from '../../openTemporal.ts';
import { readRequester } from '../../provenance.ts';
import { removeLocalHold } from './localHold.ts';
import { chooseTargetSpec } from './targetAccess.ts';
import { onSlipwayError } from '../../../domain/errors.ts';

/**
 * `slipway hold [TARGET]` and `slipway unhold [TARGET]`: a target on hold accepts no release until the hold is ended.
 * `unhold` also removes the hold that `rollback --break-glass` left on this machine.
 */
export async function runHoldCommand(
  context: CommandContext,
  holding: boolean,
  wanted: string | undefined,
  options: MessageOptions,
): Promise<number> {
  const { output, home } = context;
  const { config, folder } = await loadConfig(options.config);
  const { name, spec, workflowId } = await chooseTargetSpec(context, config, wanted);
  const by = await readRequester(context, folder, options.reason);
  const removedLocal = holding ? false : await removeLocalHold(home, spec);
  if (removedLocal) output.print('ended the hold that "rollback --break-glass" left on this machine');
  const taken = await withTemporal(context, (temporal) => setHold(temporal, workflowId, holding, by)).catch(
    onSlipwayError((error) => {
      // Without a workflow there was only a hold on this machine, and that has ended.
      if (removedLocal) return undefined;
      throw error;
    }, 'SLIPWAY_TARGET_NEVER_RELEASED'),
  );
  const onHold = taken === undefined ? false : taken.onHold;
  output.event({ event: 'hold', target: name, onHold, via: taken?.via ?? null, removedLocal });
  if (onHold === null) {
    output.print(
      `no worker answers; Temporal keeps the ${holding ? 'hold' : 'end of the hold'} until one does`,
    );
  } else {
    output.print(
      onHold
        ? `"${name}" is on hold: it rejects releases until "slipway unhold ${name}"`
        : `"${name}" accepts releases`,
    );
    if (onHold) output.note(`  a release that runs already continues; to stop it: slipway abort ${name}`);
  }
  return 0;
}
