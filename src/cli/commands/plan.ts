import { loadConfig } from '../../config/loadConfig.ts';
import type { CommandContext, FileOptions } from '../context.ts';
import { interruptible } from '../interruption.ts';
import { printProblems } from './lint/problemLines.ts';
import { planPromotionsOf } from './promotion/promotionPlan.ts';
import { releasePlan } from './release/releasePlan.ts';
import { releasePlanLines } from './release/releasePlanLines.ts';
import { chooseTargetSpec } from './target/targetAccess.ts';

/**
 * `slipway plan release [TARGET]`: prints what a release would do now: what it ships and changes, its steps and their
 * longest duration, and whether the target would accept it. `slipway plan promotion [PROMOTION]`: prints what
 * promotions will do in the coming days. Nothing is created, started or stored.
 * @throws SlipwayError as `slipway release` does before it starts anything; SLIPWAY_TEMPORAL_UNREACHABLE,
 * SLIPWAY_NO_WORKER and the control plane's errors after the rest was printed.
 */
export async function runPlanCommand(
  context: CommandContext,
  what: 'release' | 'promotion',
  wanted: string | undefined,
  options: FileOptions & { readonly days: number },
): Promise<void> {
  return what === 'release'
    ? planReleaseOn(context, wanted, options)
    : planPromotionsOf(context, wanted, options);
}

async function planReleaseOn(
  context: CommandContext,
  wanted: string | undefined,
  { config: path }: FileOptions,
): Promise<void> {
  const { output } = context;
  const file = await loadConfig(path);
  printProblems(output, file.warnings, 'note');
  const chosen = await chooseTargetSpec(context, file, wanted);
  return interruptible(async (signal) => {
    const plan = await releasePlan(context, file, chosen, signal);
    output.event(plan.event);
    for (const line of releasePlanLines(plan, output.style)) output.print(line);
    const { target, deployment } = plan.unreached;
    const unreached = target ?? deployment;
    if (unreached !== undefined) throw unreached;
  });
}
