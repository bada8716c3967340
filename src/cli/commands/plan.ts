import type { CommandContext } from '../context.ts';
import { planPromotionsOf } from './promotion/promotionPlan.ts';
import { type PlanOptions, planReleaseOn } from './release/releasePlanned.ts';

/**
 * `slipway plan release [TARGET]`: prints what a release would do now. `slipway plan promotion [PROMOTION]`: prints
 * what promotions will do in the coming days. Changes nothing.
 */
export async function runPlanCommand(
  context: CommandContext,
  what: 'release' | 'promotion',
  wanted: string | undefined,
  options: PlanOptions,
): Promise<number> {
  return what === 'release'
    ? planReleaseOn(context, wanted, options)
    : planPromotionsOf(context, wanted, options);
}
