import { loadConfig } from '../../../config/loadConfig.ts';
import { choosePromotion, promotionSettings } from '../../../config/promotionSettings.ts';
import type { InterventionKind } from '../../../domain/intervention/intervention.ts';
import { promotionWorkflowId } from '../../../domain/promotion/promotion.ts';
import type { InterventionMessage } from '../../../messages/release.ts';
import { intervenePromotion } from '../../../temporal/client/promotion/promotionClient.ts';
import type { CommandContext } from '../../context.ts';
import { withTemporal } from '../../openTemporal.ts';
import { gitIn, readRequester } from '../../provenance.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';

/**
 * `slipway approve|reject|abort|… --promotion NAME`: says one thing to a promotion under way.
 *
 * @returns the exit code.
 * @throws SlipwayError SLIPWAY_WRONG_MOMENT where it has no use for it now, or has ended.
 */
export async function runPromotionIntervention(
  context: CommandContext,
  kind: InterventionKind,
  wanted: string,
  options: {
    readonly config?: string;
    readonly reason?: string;
    readonly said: Pick<InterventionMessage, 'what'>;
  },
): Promise<number> {
  const { output } = context;
  const { config, folder } = await loadConfig(options.config);
  const name = choosePromotion(config, wanted);
  const { spec: to } = await chooseTargetSpec(context, config, promotionSettings(config, name).to);
  const { who, from, reason } = await readRequester(context.environment, gitIn(folder), options.reason);
  const message = { ...options.said, who, from, reason };
  return withTemporal(context, async (temporal) => {
    const taken = await intervenePromotion(temporal, promotionWorkflowId({ name, to }), kind, message);
    output.event({ event: 'intervention', kind, promotion: name, ...taken });
    output.print(`${kind} ${name}: ${taken.note}`);
    return 0;
  });
}
