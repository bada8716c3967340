import { SlipwayError } from '../../domain/errors.ts';
import type { CommandContext } from '../context.ts';
import { planPromotionsOf } from './promotion/promotionPlan.ts';
import { type PlanOptions, planReleaseOn } from './release/releasePlanned.ts';

/**
 * `slipway plan release [TARGET]`: prints what a release would do now. `slipway plan promotion [PROMOTION]`: prints
 * what promotions will do in the coming days. Changes nothing.
 */
export async function runPlanCommand(
  context: CommandContext,
  what: string,
  wanted: string | undefined,
  options: PlanOptions,
): Promise<number> {
  switch (what) {
    case 'release':
      return planReleaseOn(context, wanted, options);
    case 'promotion':
      return planPromotionsOf(context, wanted, options);
    default:
      throw new SlipwayError('SLIPWAY_USAGE', `there is no "slipway plan ${what}"`, {
        hint: 'slipway plan release, or slipway plan promotion',
      });
  }
}
