import { loadConfig, type LoadedConfig } from '../../../config/loadConfig.ts';
import { choosePromotion, promotionSettings } from '../../../config/promotionSettings.ts';
import { DAY_MS } from '../../../domain/duration.ts';
import { formatInstant } from '../../../domain/freeze/zonedTime.ts';
import { seeTarget, type TargetSeen } from '../../../domain/promotion/candidate.ts';
import { type Planned, type PlannedTurn, planPromotions } from '../../../domain/promotion/plan.ts';
import { promotionWorkflowId } from '../../../domain/promotion/promotion.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { listSchedules } from '../../../temporal/client/schedule/schedules.ts';
import { viewTarget } from '../../../temporal/client/target/targetClient.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import { withTemporal } from '../../openTemporal.ts';
import { readForgotten } from '../target/forgottenTarget.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';

const TURNS_MAX = 200;

/**
 * `slipway plan promotion [PROMOTION]`: prints every start and decision of the coming days, given the current
 * configuration, schedules, freezes and state. Changes nothing.
 */
export async function planPromotionsOf(
  context: CommandContext,
  wanted: string | undefined,
  options: FileOptions & { readonly days: number },
): Promise<void> {
  const file = await loadConfig(options.config);
  const only = wanted === undefined ? undefined : choosePromotion(file.config, wanted);
  return withTemporal(context, async (temporal) => {
    const now = Date.now();
    const planned = await plannedPromotions(context, file, temporal);
    const seen = await seenTargets(context, file, temporal);
    const turns = planPromotions(planned, seen, now, now + options.days * DAY_MS);
    printPlan(
      context,
      planned,
      turns.filter(({ name }) => only === undefined || name === only),
    );
  });
}

/** The promotions with a schedule, which is the file's; whether it is paused comes from Temporal. */
async function plannedPromotions(
  context: CommandContext,
  file: LoadedConfig,
  temporal: TemporalConnection,
): Promise<readonly Planned[]> {
  const existing = await listSchedules(temporal);
  const planned: Planned[] = [];
  for (const name of Object.keys(file.config.promotions)) {
    const settings = promotionSettings(file.config, name);
    const { from, downstream, schedule } = settings;
    if (schedule === undefined) continue;
    const { spec: to } = await chooseTargetSpec(context, file, settings.to);
    const found = existing.find(({ scheduleId }) => scheduleId === promotionWorkflowId({ name, to }));
    planned.push({
      request: settings,
      judge: settings.judge?.onInconclusive ?? null,
      from,
      to: settings.to,
      downstream,
      schedule,
      paused: found?.paused === true ? (found.note ?? 'no reason given') : null,
    });
  }
  return planned;
}

/** The targets' own states: the serving revision is the one that a target last recorded. */
async function seenTargets(
  context: CommandContext,
  file: LoadedConfig,
  temporal: TemporalConnection,
): Promise<ReadonlyMap<string, TargetSeen>> {
  const seen = new Map<string, TargetSeen>();
  for (const name of Object.keys(file.config.targets)) {
    const chosen = await chooseTargetSpec(context, file, name);
    const { spec } = chosen;
    const view = await viewTarget(temporal, chosen.workflowId);
    const kept = view === undefined ? await readForgotten(context, chosen) : undefined;
    const answer = view ?? (kept && { state: kept.state, running: null }) ?? null;
    const target = seeTarget(name, answer, null, spec.agentUrl ?? 'as the control plane says');
    const { activeRevisionId: servingRevisionId } = target;
    seen.set(name, { ...target, servingRevisionId, deploymentId: spec.deploymentId ?? spec.deployment });
  }
  return seen;
}

function printPlan(
  { output }: CommandContext,
  planned: readonly Planned[],
  turns: readonly PlannedTurn[],
): void {
  if (planned.length === 0)
    output.print('slipway.yaml declares no schedules: promotions start only with "slipway promote"');
  for (const { name, at, decisions } of turns.slice(0, TURNS_MAX)) {
    const timeZone = planned.find(({ request }) => request.name === name)?.schedule.timeZone ?? 'UTC';
    output.event({
      event: 'planned',
      name,
      at: new Date(at).toISOString(),
      decisions: decisions.map((decision) => ({ ...decision, at: new Date(decision.at).toISOString() })),
    });
    output.print(`${formatInstant(at, timeZone)}  ${output.style.strong(name)}`);
    for (const decision of decisions)
      output.print(`  ${formatInstant(decision.at, timeZone)}  ${decision.what}`);
  }
  if (turns.length > TURNS_MAX) output.print(`… and ${turns.length - TURNS_MAX} more`);
}
