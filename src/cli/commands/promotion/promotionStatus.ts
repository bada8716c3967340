import type { LoadedConfig } from '../../../config/loadConfig.ts';
import { nameAndMark } from '../../../domain/actor.ts';
import { pageLink, promotionAddress } from '../../../domain/dashboard/addresses.ts';
import { formatDuration } from '../../../domain/duration.ts';
import { hasCode, onSlipwayError, type SlipwayError } from '../../../domain/errors.ts';
import { exactText } from '../../../domain/scalars.ts';
import { promotionIdAt, promotionWorkflowId } from '../../../domain/promotion/promotion.ts';
import { outcomeExitCode } from '../../../domain/release/outcome.ts';
import { describeTimes } from '../../../domain/schedule/schedule.ts';
import { describeJudgement } from '../../../domain/story.ts';
import { type TargetSpec, targetWorkflowId } from '../../../domain/target/targetSpec.ts';
import { type PromotionInput, WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { listRunning } from '../../../temporal/client/listRunning.ts';
import { type PromotionView, viewPromotion } from '../../../temporal/client/promotion/promotionClient.ts';
import { type ExistingSchedule, readSchedule } from '../../../temporal/client/schedule/schedules.ts';
import { refuseStuck } from '../../../temporal/client/stuckTask.ts';
import { ifSealed, isSealed } from '../../../temporal/client/temporalError.ts';
import { workflowPage } from '../../../temporal/client/temporalSettings.ts';
import { fetchFirstInput } from '../../../temporal/history/fetchHistories.ts';
import type { EventOf } from '../../events/index.ts';
import { promotionWords } from '../../ui/endingText.ts';
import { fitLine, MARKS, type Screen, type Style } from '../../ui/text.ts';
import { linkLines, runningLines } from '../status/statusLines.ts';

export interface PromotionStatus extends Pick<
  EventOf<'promotion_status'>,
  'name' | 'from' | 'to' | 'workflowId' | 'workflowUrl' | 'dashboardUrl'
> {
  readonly view: PromotionView | Unreadable;
  /** Absent: Temporal has none. */
  readonly schedule?: ExistingSchedule;
}

/** The key of its payloads is missing, or workers cannot continue it. */
interface Unreadable {
  readonly state: 'unreadable';
  readonly problem: SlipwayError;
}

/**
 * Reads the status of all promotions to the given targets: those of the file, and others that run, because the file may have
 * changed since they began.
 * @param answering - whether a worker answers. If not, no workflow is queried.
 */
export async function promotionStatuses(
  { config }: Pick<LoadedConfig, 'config'>,
  temporal: TemporalConnection,
  specs: ReadonlyMap<string, TargetSpec>,
  answering: boolean,
): Promise<readonly PromotionStatus[]> {
  const declared = Object.entries(config.promotions).flatMap(([name, { from, to, schedule }]) => {
    const spec = specs.get(to);
    return spec === undefined
      ? []
      : { name, from, to, workflowId: promotionWorkflowId({ name, to: spec }), schedule };
  });
  const others = (await runningTo(temporal, specs)).filter(
    ({ workflowId }) => !declared.some((each) => each.workflowId === workflowId),
  );
  const statuses: PromotionStatus[] = [];
  for (const { schedule: isScheduled, ...promotion } of declared)
    statuses.push(await readStatus(temporal, promotion, answering, isScheduled !== undefined));
  for (const other of others) {
    const started = await fetchFirstInput(temporal, other.workflowId).catch(ifSealed(() => undefined));
    const { request } = (started?.input ?? {}) as Partial<PromotionInput>;
    const from = request?.from.name ?? config.promotions[other.name]?.from ?? '?';
    statuses.push(await readStatus(temporal, { ...other, from }, answering, false));
  }
  return statuses;
}

type Place = Pick<PromotionStatus, 'name' | 'to' | 'workflowId'>;

function runningTo(
  temporal: TemporalConnection,
  specs: ReadonlyMap<string, TargetSpec>,
): Promise<readonly Place[]> {
  const targets = [...specs].map(([to, spec]) => ({ to, begins: promotionIdAt(targetWorkflowId(spec), '') }));
  return listRunning(temporal, WORKFLOW_TYPES.promotion, ({ workflowId }) => {
    const target = targets.find(({ begins }) => workflowId.startsWith(begins));
    return target && { workflowId, name: workflowId.slice(target.begins.length), to: target.to };
  });
}

async function readStatus(
  temporal: TemporalConnection,
  promotion: Place & Pick<PromotionStatus, 'from'>,
  answering: boolean,
  isScheduled: boolean,
): Promise<PromotionStatus> {
  const { workflowId } = promotion;
  const none = onSlipwayError(() => undefined, 'SLIPWAY_SCHEDULE_UNKNOWN');
  const [view, schedule] = await Promise.all([
    readView(temporal, workflowId, answering),
    isScheduled ? readSchedule(temporal, workflowId).catch(none) : undefined,
  ]).catch(unreadable);
  const isNone = view.state === 'none';
  return {
    ...promotion,
    view,
    workflowUrl: isNone ? null : workflowPage(temporal.settings, workflowId),
    dashboardUrl: isNone ? null : pageLink(temporal.settings.dashboard, promotionAddress(workflowId)),
    schedule,
  };
}

async function readView(
  temporal: TemporalConnection,
  workflowId: string,
  answering: boolean,
): Promise<PromotionView> {
  const view = await viewPromotion(temporal, workflowId, answering);
  if (answering && view.state === 'running' && view.progress === undefined)
    await refuseStuck(temporal, workflowId);
  return view;
}

function unreadable(problem: unknown): [Unreadable, undefined] {
  const isStuck = hasCode(problem, 'SLIPWAY_WORKFLOW_STUCK');
  if (isStuck || isSealed(problem)) return [{ state: 'unreadable', problem }, undefined];
  throw problem;
}

const REASON_MAX_CHARACTERS = 160;

export function promotionLines(
  { name, from, to, view, schedule, ...links }: PromotionStatus,
  screen: Screen,
): readonly string[] {
  const { style } = screen;
  return [
    `${style.strong(name)}: ${from} → ${to}`,
    ...viewLines(name, view, screen),
    ...(schedule === undefined ? [] : scheduleLines(schedule, style)),
    ...linkLines(links),
  ];
}

function viewLines(name: string, view: PromotionStatus['view'], screen: Screen): readonly string[] {
  const { now, style } = screen;
  switch (view.state) {
    case 'unreadable':
      return [`  ${style.warn(view.problem.message)}`];
    case 'none':
      return ['  has never run, or Temporal no longer keeps it'];
    case 'stopped':
      return [`  ${style.bad(`${MARKS.failed} ended without a result: its workflow is ${view.status}`)}`];
    case 'running': {
      const { progress } = view;
      if (progress === undefined) return ['  running  no worker answers'];
      const judged = progress.judgement === undefined ? [] : [judgedLine(progress.judgement)];
      return [
        `  running  ${progress.phase}`,
        ...runningLines({ progress, addressed: `--promotion ${name}`, call: null, buildLog: [] }, screen),
        ...judged,
      ];
    }
    case 'ended': {
      const { outcome, reason, endedAt, requestedBy, judgement } = view.result;
      const mark = style.mark(outcomeExitCode('release', outcome) === 0);
      const ago = formatDuration(now - Date.parse(endedAt));
      const why = fitLine(reason, REASON_MAX_CHARACTERS);
      return [
        `  last     ${mark} ${promotionWords(view.result)} ${ago} ago, by ${nameAndMark(requestedBy)}: ${why}`,
        ...(judgement === null ? [] : [judgedLine(judgement)]),
      ];
    }
  }
}

function judgedLine(judgement: Parameters<typeof describeJudgement>[0]): string {
  return `  judged   ${fitLine(describeJudgement(judgement), 2 * REASON_MAX_CHARACTERS)}`;
}

function scheduleLines({ schedule, paused, note, next }: ExistingSchedule, style: Style): readonly string[] {
  const times = `  schedule ${describeTimes(schedule)}`;
  if (paused) {
    const why = note === null ? '' : `: ${note}`;
    return [times, `  ${style.warn(`paused${why}`)}`];
  }
  return next[0] === undefined ? [times] : [`${times}; next: ${exactText(next[0])}`];
}
