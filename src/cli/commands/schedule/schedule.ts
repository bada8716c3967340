import { loadConfig, type LoadedConfig } from '../../../config/loadConfig.ts';
import { choosePromotion, promotionSettings } from '../../../config/promotionSettings.ts';
import { onSlipwayError, SlipwayError } from '../../../domain/errors.ts';
import { exactText } from '../../../domain/scalars.ts';
import { promotionIdAt, promotionWorkflowId } from '../../../domain/promotion/promotion.ts';
import { type DeclaredSchedule, describeTimes, scheduleChanges } from '../../../domain/schedule/schedule.ts';
import { targetWorkflowId } from '../../../domain/target/targetSpec.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { startPromotion } from '../../../temporal/client/promotion/promotionClient.ts';
import {
  applySchedules,
  type ExistingSchedule,
  listSchedules,
  pauseSchedule,
  readSchedule,
} from '../../../temporal/client/schedule/schedules.ts';
import { ifSealed } from '../../../temporal/client/temporalError.ts';
import type { CommandContext, MessageOptions } from '../../context.ts';
import { withTemporal } from '../../openTemporal.ts';
import { readRequester } from '../../provenance.ts';
import { placeOf } from '../promotion/placeOf.ts';
import { type PreparedPromotion, promotionRequest, withProof } from '../promotion/promotionRequest.ts';
import { type ChosenTarget, chooseTargetSpec, chooseTargetSpecs } from '../target/targetAccess.ts';

interface ScheduleOptions extends MessageOptions {
  readonly dryRun?: boolean;
  /** Remove schedules of the file's targets that the file does not declare. */
  readonly prune?: boolean;
}

/** `slipway schedule apply|list|pause|resume|trigger [PROMOTION]`. */
export async function runScheduleCommand(
  context: CommandContext,
  what: 'apply' | 'list' | 'pause' | 'resume' | 'trigger',
  promotion: string | undefined,
  options: ScheduleOptions,
): Promise<void> {
  const problem = misuse(what, promotion, options);
  if (problem !== undefined)
    throw new SlipwayError('SLIPWAY_USAGE', problem, { hint: 'see: slipway schedule --help' });
  switch (what) {
    case 'apply':
      return runScheduleApply(context, options);
    case 'list':
      return runScheduleList(context, options);
    case 'pause':
    case 'resume':
      return runSchedulePause(context, what === 'pause', promotion, options);
    case 'trigger':
      return runScheduleTrigger(context, promotion, options);
  }
}

/** Why a command would do more than was asked, because it ignores a word or an option; `undefined`: it does not. */
function misuse(
  what: Parameters<typeof runScheduleCommand>[1],
  promotion: string | undefined,
  { dryRun, prune }: ScheduleOptions,
): string | undefined {
  if (what !== 'apply' && dryRun === true) return '--dry-run is only for "apply"';
  if (what !== 'apply' && prune === true) return '--prune is only for "apply"';
  const isForAll = what === 'apply' || what === 'list';
  return isForAll && promotion !== undefined
    ? `"${what}" is for all schedules of slipway.yaml, not only for "${promotion}"`
    : undefined;
}

/**
 * `slipway schedule apply`: prints how Temporal's schedules differ from the file's, and makes them equal. Idempotent.
 */
export async function runScheduleApply(context: CommandContext, options: ScheduleOptions): Promise<void> {
  const { output } = context;
  const file = await loadConfig(options.config);
  return withTemporal(context, async (temporal) => {
    const { targets, problem } = await chooseTargetSpecs(context, file, undefined);
    const { declared, prepared, skipped } = await declaredSchedules(context, file, targets);
    const { existing, sealed } = await existingSchedules(temporal, targets, skipped);
    if (sealed[0] !== undefined) throw sealed[0];
    const changes = scheduleChanges(declared, existing);
    const prune = options.prune ?? false;
    for (const { name, kind, differences, scheduleId } of changes) {
      output.event({ event: 'schedule_change', name, scheduleId, kind, differences });
      const remedy = prune ? '--prune removes it' : 'to remove it: --prune';
      output.print(`${name}: ${kind}${kind === 'undeclared' ? ` in slipway.yaml; ${remedy}` : ''}`);
      for (const difference of differences) output.print(`  ${difference}`);
    }
    for (const name of skipped) output.warn(`${name}: skipped, because one of its targets cannot be found`);
    if (changes.length + skipped.length === 0) output.print('slipway.yaml declares no schedules');
    if (options.dryRun !== true) {
      for (const { store } of prepared) await store();
      await applySchedules(temporal, declared, changes, prune);
    }
    if (problem !== undefined) throw problem;
  });
}

/** `slipway schedule list`: the schedules of the file's targets, with their next times. */
export async function runScheduleList(context: CommandContext, options: ScheduleOptions): Promise<void> {
  const file = await loadConfig(options.config);
  return withTemporal(context, async (temporal) => {
    const { targets, problem } = await chooseTargetSpecs(context, file, undefined);
    const { existing, sealed } = await existingSchedules(temporal, targets);
    for (const schedule of existing) printSchedule(context, schedule);
    const [first, ...more] = problem === undefined ? sealed : [...sealed, problem];
    for (const { message } of more) context.output.print(message);
    if (first !== undefined) throw first;
    if (existing.length === 0)
      context.output.print('Temporal has no schedules; create them: slipway schedule apply');
  });
}

export async function runSchedulePause(
  context: CommandContext,
  paused: boolean,
  wanted: string | undefined,
  options: ScheduleOptions,
): Promise<void> {
  const file = await loadConfig(options.config);
  const { who, reason } = await readRequester(context, file.folder, options.reason);
  return withTemporal(context, async (temporal) => {
    const scheduleId = await scheduleIdOf(context, temporal, file, wanted);
    await pauseSchedule(temporal, scheduleId, paused, `${who}: ${reason ?? 'no reason given'}`);
    const schedule = await readSchedule(temporal, scheduleId).catch(ifSealed((error) => error));
    if (schedule instanceof SlipwayError)
      context.output.print(`${paused ? 'paused' : 'resumed'}; ${schedule.message}`);
    else printSchedule(context, schedule);
  });
}

/**
 * `slipway schedule trigger PROMOTION`: starts the promotion now. The person who triggers it cannot approve it. Temporal's
 * own trigger is not used, because it cannot pass on who asked.
 */
export async function runScheduleTrigger(
  context: CommandContext,
  wanted: string | undefined,
  options: ScheduleOptions,
): Promise<void> {
  const file = await loadConfig(options.config);
  const requestedBy = await readRequester(context, file.folder, options.reason);
  return withTemporal(context, async (temporal) => {
    const scheduleId = await scheduleIdOf(context, temporal, file, wanted);
    const scheduled = (await readSchedule(temporal, scheduleId)).request;
    const request = await withProof(context, { ...scheduled, requestedBy });
    const { disposition } = await startPromotion(temporal, request);
    const { name } = request;
    context.output.event({ event: 'triggered', name, scheduleId, disposition });
    const done = disposition === 'started' ? 'triggered now' : 'not triggered: it is running already';
    context.output.print(`${name}: ${done}`);
  });
}

function printSchedule(
  { output }: CommandContext,
  { request, schedule, paused, note, next, recent, scheduleId }: ExistingSchedule,
) {
  const { name, from, to } = request;
  const state = { paused, note, next, recent };
  output.event({ event: 'schedule', name, scheduleId, from: from.name, to: to.name, ...schedule, ...state });
  output.print(`${output.style.strong(name)}: ${from.name} to ${to.name}, ${describeTimes(schedule)}`);
  if (paused) output.print(output.style.warn(`  paused${note === null ? '' : `: ${note}`}`));
  else for (const time of next.slice(0, NEXT_SHOWN)) output.print(`  next: ${exactText(time)}`);
}

const NEXT_SHOWN = 5;

/** The schedules that the file declares. `skipped`: the promotions of which a target is not among `targets`. */
async function declaredSchedules(
  context: CommandContext,
  file: LoadedConfig,
  targets: readonly ChosenTarget[],
): Promise<{
  readonly declared: readonly DeclaredSchedule[];
  readonly prepared: readonly PreparedPromotion[];
  readonly skipped: readonly string[];
}> {
  const specs = new Map(targets.map(({ name, spec }) => [name, spec]));
  const declared: DeclaredSchedule[] = [];
  const prepared: PreparedPromotion[] = [];
  const skipped: string[] = [];
  for (const name of Object.keys(file.config.promotions)) {
    const { schedule, from, to, downstream } = promotionSettings(file.config, name);
    if (schedule === undefined) continue;
    if (![from, to, ...downstream].every((target) => specs.has(target))) {
      skipped.push(name);
      continue;
    }
    // A fixed requester: the declared schedule must not depend on who applies it.
    const by = { who: 'schedule', from: `schedule ${name}` };
    const promotion = await promotionRequest(context, file, name, by);
    const { request } = promotion;
    prepared.push(promotion);
    declared.push({ scheduleId: promotionWorkflowId(request), request, schedule });
  }
  return { declared, prepared, skipped };
}

/**
 * The schedules of these targets, and the errors of those whose payload key is missing.
 * @param skipped - promotions to leave out. Default: none.
 */
async function existingSchedules(
  temporal: TemporalConnection,
  targets: readonly ChosenTarget[],
  skipped: readonly string[] = [],
): Promise<{ readonly existing: readonly ExistingSchedule[]; readonly sealed: readonly SlipwayError[] }> {
  const sealed = new Map<string, SlipwayError>();
  const found = await listSchedules(temporal, sealed);
  return {
    existing: found.filter(
      ({ request: { name, to } }) =>
        !skipped.includes(name) && targets.some(({ workflowId }) => workflowId === targetWorkflowId(to)),
    ),
    sealed: [...sealed].flatMap(([id, error]) =>
      targets.some(({ workflowId }) => id.startsWith(promotionIdAt(workflowId, ''))) ? error : [],
    ),
  };
}

async function scheduleIdOf(
  context: CommandContext,
  temporal: TemporalConnection,
  file: LoadedConfig,
  wanted: string | undefined,
): Promise<string> {
  const declared = await declaredIdOf(context, file, wanted).catch(
    onSlipwayError((error) => error, 'SLIPWAY_PROMOTION_UNKNOWN'),
  );
  const { name, scheduleId: stated } =
    declared instanceof SlipwayError ? { name: wanted, scheduleId: declared } : declared;
  const exists = (scheduleId: string): Promise<boolean> =>
    readSchedule(temporal, scheduleId)
      .then(
        () => true,
        ifSealed(() => true),
      )
      .catch(onSlipwayError(() => false, 'SLIPWAY_SCHEDULE_UNKNOWN'));
  const elsewhere = async (): Promise<readonly string[]> => {
    const { targets } = await chooseTargetSpecs(context, file, undefined);
    const { existing } = await existingSchedules(temporal, targets);
    return existing.flatMap(({ request, scheduleId }) => (request.name === name ? scheduleId : []));
  };
  return placeOf(stated, exists, elsewhere, () => {
    const hint =
      'see them: slipway schedule list; keep only those of slipway.yaml: slipway schedule apply --prune';
    return new SlipwayError('SLIPWAY_USAGE', `several schedules "${name ?? ''}" exist`, { hint });
  });
}

async function declaredIdOf(
  context: CommandContext,
  file: LoadedConfig,
  wanted: string | undefined,
): Promise<{ readonly name: string; readonly scheduleId: string }> {
  const name = choosePromotion(file.config, wanted);
  const { spec: to } = await chooseTargetSpec(context, file, promotionSettings(file.config, name).to);
  return { name, scheduleId: promotionWorkflowId({ name, to }) };
}
