import { loadConfig } from '../../../config/loadConfig.ts';
import { choosePromotion, promotionSettings } from '../../../config/promotionSettings.ts';
import type { InterventionKind } from '../../../domain/intervention/intervention.ts';
import { promotionWorkflowId } from '../../../domain/promotion/promotion.ts';
import type { InterventionMessage } from '../../../messages/release.ts';
import { intervenePromotion } from '../../../temporal/client/promotion/promotionClient.ts';
import type { CommandContext } from '../../context.ts';
import { withTemporal } from '../../openTemporal.ts';
import { commandProver } from '../../identity/keepProof.ts';
import { gitIn, readRequester } from '../../provenance.ts';
import { artifactStoreOf } from '../artifact/artifactOf.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';

/**
 * `slipway approve|reject|abort|… --promotion NAME`: controls a running promotion.
 *
 * @returns the exit code.
 * @throws SlipwayError SLIPWAY_WRONG_MOMENT if the command does not apply now, or the promotion has ended.
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
  const { to: target, approval } = promotionSettings(config, name);
  const { spec: to } = await chooseTargetSpec(context, config, target);
  const { who, from, reason } = await readRequester(context.environment, gitIn(folder), options.reason);
  const message = { ...options.said, who, from, reason };
  const prove = commandProver(context, approval, () => artifactStoreOf({ config, folder }, context));
  return withTemporal(context, async (temporal) => {
    const workflowId = promotionWorkflowId({ name, to });
    const taken = await intervenePromotion(temporal, workflowId, kind, message, prove);
    output.event({ event: 'intervention', kind, promotion: name, ...taken });
    output.print(`${kind} ${name}: ${taken.note}`);
    return 0;
  });
}
