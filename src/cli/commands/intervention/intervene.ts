import type { Config } from '../../../config/configSchema.ts';
import { loadConfig, type Project } from '../../../config/loadConfig.ts';
import {
  choosePromotion,
  type PromotionSettings,
  promotionSettings,
} from '../../../config/promotionSettings.ts';
import { hasCode, onSlipwayError, SlipwayError } from '../../../domain/errors.ts';
import { FREEZE, type InterventionKind, JUDGE, SOAK } from '../../../domain/intervention/intervention.ts';
import { promotionIdAt } from '../../../domain/promotion/promotion.ts';
import { describeWorkflow } from '../../../temporal/client/connection.ts';
import {
  intervene,
  type Intervened,
  stopRelease,
} from '../../../temporal/client/intervention/interventionClient.ts';
import { intervenePromotion } from '../../../temporal/client/promotion/promotionClient.ts';
import type { CommandContext, MessageOptions } from '../../context.ts';
import { commandProver } from '../../identity.ts';
import { withTemporal } from '../../openTemporal.ts';
import type { Output } from '../../output.ts';
import { readRequester } from '../../provenance.ts';
import { placeOf } from '../promotion/placeOf.ts';
import { askTarget } from '../target/forgottenTarget.ts';
import { type ChosenTarget, chooseTargetSpec, chooseTargetSpecs } from '../target/targetAccess.ts';

export interface InterventionOptions extends MessageOptions {
  readonly release?: string;
  readonly promotion?: string;
  readonly check?: string;
  readonly soak?: boolean;
  readonly judge?: boolean;
  readonly freeze?: boolean;
}

/**
 * `slipway abort|pause|resume|approve|reject|retry|skip [TARGET]`: controls the running release. `abort` of a queued
 * release withdraws it. With `--promotion`: controls a running promotion.
 * @throws SlipwayError SLIPWAY_WRONG_MOMENT if the command does not apply to the release now.
 */
export async function runInterventionCommand(
  context: CommandContext,
  kind: InterventionKind,
  wanted: string | undefined,
  options: InterventionOptions,
): Promise<void> {
  const said = skipped(options);
  if (kind === 'skip' && said.what === undefined) {
    const hint = 'name it: --check NAME, --soak, --judge, or --freeze';
    throw new SlipwayError('SLIPWAY_USAGE', 'name what to skip', { hint });
  }
  const { output } = context;
  const file = await loadConfig(options.config);
  if (options.promotion !== undefined)
    return interveneInPromotion(context, kind, file, wanted, { ...options, promotion: options.promotion });
  const { promotions } = file.config;
  const target = await chooseTargetSpec(context, file, wanted);
  const { name, settings, workflowId, openStore } = target;
  const message = await readRequester(context, file.folder, options.reason);
  const prove = commandProver(context, settings.approval, openStore);
  return withTemporal(context, async (temporal) => {
    const { release } = options;
    const ask = () =>
      kind === 'abort' && release !== undefined
        ? stopRelease(temporal, workflowId, release, message, prove)
        : intervene(temporal, workflowId, kind, { ...message, ...said }, release, prove);
    const taken = await askTarget(temporal, target, ask).catch((error: unknown) => {
      const leading = Object.keys(promotions).filter((each) => promotions[each]?.to === name);
      throw release === undefined ? withPromotions(error, kind, leading) : error;
    });
    output.event({ event: 'intervention', kind, target: name, ...taken });
    output.print(`${kind} ${taken.releaseId ?? name}: ${taken.note}`);
  });
}

/** The settings of a promotion of the file; the error if the file has none of this name. */
function declared(config: Config, promotion: string): PromotionSettings | SlipwayError {
  try {
    return promotionSettings(config, choosePromotion(config, promotion));
  } catch (error) {
    return onSlipwayError((unknown) => unknown, 'SLIPWAY_PROMOTION_UNKNOWN')(error);
  }
}

async function interveneInPromotion(
  context: CommandContext,
  kind: InterventionKind,
  file: Project,
  wanted: string | undefined,
  options: InterventionOptions & { readonly promotion: string },
): Promise<void> {
  const { promotion: name } = options;
  const settings = declared(file.config, name);
  const message = await readRequester(context, file.folder, options.reason);
  return withTemporal(context, async (temporal) => {
    const stated = await statedTarget(context, file, settings, wanted);
    const isRunning = async ({ workflowId }: ChosenTarget): Promise<boolean> => {
      const found = await describeWorkflow(temporal, promotionIdAt(workflowId, name));
      return found?.status.name === 'RUNNING';
    };
    const runningElsewhere = async (): Promise<readonly ChosenTarget[]> => {
      const { targets } = await chooseTargetSpecs(context, file, wanted);
      const running: ChosenTarget[] = [];
      for (const each of targets) if (await isRunning(each)) running.push(each);
      return running;
    };
    const target = await placeOf(stated, isRunning, runningElsewhere, (found) => {
      const hint = `name one of its targets: slipway ${kind} ${found.name} --promotion ${name}`;
      return new SlipwayError('SLIPWAY_USAGE', `several promotions "${name}" run`, { hint });
    });
    // On another target than the file states, that target's own policy decides who must prove their identity.
    const isStated = !(settings instanceof SlipwayError) && target === stated;
    const { approval } = isStated ? settings : target.settings;
    const prove = commandProver(context, approval, target.openStore);
    const id = promotionIdAt(target.workflowId, name);
    const said = { ...skipped(options), ...message };
    const taken = await intervenePromotion(temporal, id, kind, said, prove);
    printPromotionTaken(context.output, kind, { name, to: target.name }, taken);
  });
}

/** The target to which a promotion leads by the file; the error if that is none, or another one than a person named. */
async function statedTarget(
  context: CommandContext,
  file: Project,
  settings: PromotionSettings | SlipwayError,
  wanted: string | undefined,
): Promise<ChosenTarget | SlipwayError> {
  if (settings instanceof SlipwayError) return settings;
  const { name, to } = settings;
  if (wanted === undefined || wanted === to) return chooseTargetSpec(context, file, to);
  const leads = `promotion "${name}" leads to "${to}", and none runs to "${wanted}"`;
  return new SlipwayError('SLIPWAY_USAGE', leads, { hint: `leave "${wanted}" out, or --promotion` });
}

function printPromotionTaken(
  output: Output,
  kind: InterventionKind,
  { name, to }: Pick<PromotionSettings, 'name' | 'to'>,
  taken: Intervened,
): void {
  output.event({ event: 'intervention', kind, promotion: name, ...taken });
  output.print(`${kind} ${name}: ${taken.note}`);
  if (kind !== 'pause') return;
  output.note(`  a release that it has already requested from "${to}" is not paused, also if it waits there`);
  output.note(
    `  to pause that release once it runs: slipway pause ${to}; to withdraw it: slipway abort --promotion ${name}`,
  );
}

/** The error that no release can use the message, with the command for a promotion to the target. */
export function withPromotions(
  error: unknown,
  kind: InterventionKind,
  [promotion, ...others]: readonly string[],
): unknown {
  const hasNoRelease = hasCode(error, 'SLIPWAY_TARGET_NEVER_RELEASED', 'SLIPWAY_WRONG_MOMENT');
  if (promotion === undefined || !hasNoRelease) return error;
  const { code, message, place, cause } = error;
  const or = others.map((other) => ` or ${other}`).join('');
  const hint = `a promotion takes it by its own name: slipway ${kind} --promotion ${promotion}${or}`;
  return new SlipwayError(code, message, { place, hint, cause });
}

function skipped({ check, soak, judge, freeze }: InterventionOptions): { readonly what?: string } {
  if (check !== undefined) return { what: check };
  if (freeze === true) return { what: FREEZE };
  if (judge === true) return { what: JUDGE };
  return soak === true ? { what: SOAK } : {};
}
