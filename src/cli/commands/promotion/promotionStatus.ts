import type { LoadedConfig } from '../../../config/loadConfig.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { promotionWorkflowId } from '../../../domain/promotion/promotion.ts';
import type { TargetSpec } from '../../../domain/target/targetSpec.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { type PromotionView, viewPromotion } from '../../../temporal/client/promotion/promotionClient.ts';
import { type ExistingSchedule, readSchedule } from '../../../temporal/client/schedule/schedules.ts';
import { workflowPage } from '../../../temporal/client/temporalSettings.ts';

/** Everything that is known of a promotion of the file. */
export interface PromotionStatus {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly workflowId: string;
  readonly workflowUrl: string | null;
  readonly view: PromotionView;
  /** Absent: Temporal has none. */
  readonly schedule?: ExistingSchedule;
}

/**
 * Asks for everything that is known of the promotions that have to do with some targets.
 *
 * @param answering - whether a worker answers: else none is asked.
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function promotionStatuses(
  { config }: Pick<LoadedConfig, 'config'>,
  temporal: TemporalConnection,
  specs: ReadonlyMap<string, TargetSpec>,
  answering: boolean,
): Promise<readonly PromotionStatus[]> {
  const statuses: PromotionStatus[] = [];
  for (const [name, { from, to, schedule: declared }] of Object.entries(config.promotions)) {
    const spec = specs.get(to);
    if (spec === undefined) continue;
    const workflowId = promotionWorkflowId({ name, to: spec });
    const view = await viewPromotion(temporal, workflowId, answering);
    const schedule = declared === undefined ? undefined : await scheduleOf(temporal, workflowId);
    statuses.push({
      name,
      from,
      to,
      workflowId,
      view,
      workflowUrl: view.state === 'none' ? null : workflowPage(temporal.settings, workflowId),
      schedule,
    });
  }
  return statuses;
}

async function scheduleOf(
  temporal: TemporalConnection,
  scheduleId: string,
): Promise<ExistingSchedule | undefined> {
  try {
    return await readSchedule(temporal, scheduleId);
  } catch (error) {
    if (error instanceof SlipwayError && error.code === 'SLIPWAY_SCHEDULE_UNKNOWN') return undefined;
    throw error;
  }
}
