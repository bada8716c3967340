import type { SlipwayError } from '../../../domain/errors.ts';
import { promotionWorkflowId, type PromotionRequest } from '../../../domain/promotion/promotion.ts';
import { WORKFLOW_TYPES, type PromotionInput } from '../../../messages/workflowTypes.ts';
import { fetchFirstInput } from '../../history/fetchHistories.ts';
import { type TemporalConnection, callTemporal } from '../connection.ts';
import { ofTypes } from '../listRunning.ts';
import { type ExistingSchedule, listSchedules } from '../schedule/schedules.ts';
import { isSealed } from '../temporalError.ts';
import { type PromotionView, viewPromotion } from './promotionClient.ts';

export interface ListedPromotion {
  readonly workflowId: string;
  readonly request: PromotionRequest;
  readonly view: PromotionView;
  /** When its newest run began; `null` if there was none. */
  readonly startedAt: string | null;
  /** Absent if Temporal has no schedule for it. */
  readonly schedule?: ExistingSchedule;
}

export interface ListedPromotions {
  readonly promotions: readonly ListedPromotion[];
  /** Those whose payload key is missing, by workflow id. */
  readonly sealed: ReadonlyMap<string, SlipwayError>;
}

const RUNS_MAX = 500;

export async function listPromotions(temporal: TemporalConnection): Promise<ListedPromotions> {
  return callTemporal(temporal, async () => {
    const sealed = new Map<string, SlipwayError>();
    const schedules = await listSchedules(temporal, sealed);
    const ids = new Set(schedules.map(({ scheduleId }) => scheduleId));
    let looked = 0;
    for await (const { workflowId } of temporal.client.workflow.list({
      query: ofTypes([WORKFLOW_TYPES.promotion]),
    })) {
      ids.add(workflowId);
      if (++looked >= RUNS_MAX) break;
    }
    const read = async (workflowId: string): Promise<ListedPromotion | undefined> => {
      try {
        return sealed.has(workflowId) ? undefined : await readPromotion(temporal, workflowId, schedules);
      } catch (error) {
        if (!isSealed(error)) throw error;
        sealed.set(workflowId, error);
        return undefined;
      }
    };
    const found = await Promise.all([...ids].map(read));
    const promotions = found
      .flatMap((promotion) => promotion ?? [])
      .sort((one, other) => one.request.name.localeCompare(other.request.name));
    return { promotions, sealed };
  });
}

/** One promotion; `undefined` if it has neither a run nor a schedule. */
export async function readPromotion(
  temporal: TemporalConnection,
  workflowId: string,
  schedules: readonly ExistingSchedule[],
): Promise<ListedPromotion | undefined> {
  const schedule = schedules.find(({ scheduleId }) => scheduleId === workflowId);
  const [view, started] = await Promise.all([
    viewPromotion(temporal, workflowId),
    fetchFirstInput(temporal, workflowId),
  ]);
  const request = (started?.input as PromotionInput | undefined)?.request ?? schedule?.request;
  if (request === undefined || promotionWorkflowId(request) !== workflowId) return undefined;
  return { workflowId, request, view, startedAt: started?.at ?? null, schedule };
}
