import { loadConfig } from '../../../config/loadConfig.ts';
import type { CommandContext } from '../../context.ts';
import { onInterruption } from '../../interruption.ts';
import { printProblems } from '../lint/printProblems.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';
import { releasePlan } from './releasePlan.ts';
import { releasePlanEvent } from './releasePlanEvent.ts';
import { releasePlanLines } from './releasePlanLines.ts';

/** The options of `slipway plan release [TARGET]` and `slipway plan promotion [PROMOTION]`. */
export interface PlanOptions {
  readonly config?: string;
  /** How many days of promotions are planned. */
  readonly days: number;
}

/**
 * `slipway plan release [TARGET]`: what a release would do at this moment: what it ships, what it changes, its steps and
 * how long they may take, and whether the target would take it. Nothing is made, started or stored.
 *
 * @returns the exit code.
 * @throws SlipwayError as `slipway release` does before it starts anything; SLIPWAY_TEMPORAL_UNREACHABLE,
 * SLIPWAY_NO_WORKER and the control plane's own after everything else was told.
 */
export async function planReleaseOn(
  context: CommandContext,
  wanted: string | undefined,
  { config: path }: Pick<PlanOptions, 'config'>,
): Promise<number> {
  const { output } = context;
  const file = await loadConfig(path);
  printProblems(output, file.warnings, 'note');
  const chosen = await chooseTargetSpec(context, file.config, wanted);
  const interruption = onInterruption();
  try {
    const plan = await releasePlan(context, file, chosen, interruption.signal);
    output.event(releasePlanEvent(plan));
    for (const line of releasePlanLines(plan, output.style)) output.print(line);
    const [unreached] = plan.unreached;
    if (unreached !== undefined) throw unreached;
    return 0;
  } finally {
    interruption.release();
  }
}
