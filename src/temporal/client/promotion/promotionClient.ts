import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
} from '@temporalio/client';

import type { SlipwayError } from '../../../domain/errors.ts';
import type { Prove } from '../../../domain/identity/statement.ts';
import type { InterventionKind } from '../../../domain/intervention/intervention.ts';
import {
  type PromotionRequest,
  type PromotionResult,
  promotionWorkflowId,
} from '../../../domain/promotion/promotion.ts';
import type { Progress } from '../../../domain/release/release.ts';
import { workflowResult } from '../../../domain/workflowResult.ts';
import { promotionStart } from '../../../messages/promotion.ts';
import type { InterventionMessage } from '../../../messages/release.ts';
import { type PromotionInput, WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import { currentTrace } from '../../../traces/trace.ts';
import { fetchFirstInput } from '../../history/fetchHistories.ts';
import { wrongMoment } from '../ask.ts';
import { callTemporal, type TemporalConnection } from '../connection.ts';
import { type Intervened, sayTo } from '../intervention/interventionClient.ts';
import { ofTypes } from '../listRunning.ts';
import { type ExistingSchedule, listSchedules } from '../schedule/schedules.ts';
import { readProgress } from '../target/targetClient.ts';
import { isSealed, temporalError, unansweredRequest } from '../temporalError.ts';
import { requireWorkersOfPromotion } from '../workerPresence.ts';

/** The result of starting a promotion: a new run, or the running one with the same name. */
export interface PromotionStarted {
  readonly workflowId: string;
  readonly disposition: 'started' | 'joined';
}

export async function startPromotion(
  temporal: TemporalConnection,
  request: PromotionRequest,
): Promise<PromotionStarted> {
  const { client, settings } = temporal;
  const workflowId = promotionWorkflowId(request);
  await requireWorkersOfPromotion(temporal, request);
  try {
    await client.workflow.start(
      WORKFLOW_TYPES.promotion,
      promotionStart({ ...request, trace: currentTrace() }, settings.taskQueue),
    );
    return { workflowId, disposition: 'started' };
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return { workflowId, disposition: 'joined' };
    throw unansweredRequest(error, settings, 'the promotion may still start');
  }
}

/**
 * Sends an intervention to a running promotion.
 * @returns its answer; `disposition` is `kept` if no worker answered and Temporal keeps the signal.
 * @throws SlipwayError SLIPWAY_WRONG_MOMENT if it cannot use it now. If it has ended, the error says how.
 */
export async function intervenePromotion(
  temporal: TemporalConnection,
  workflowId: string,
  kind: InterventionKind,
  message: InterventionMessage,
  prove?: Prove,
): Promise<Intervened> {
  const gone = wrongMoment('no promotion of this name is running');
  try {
    return await sayTo(temporal, { releaseId: null, workflowId }, kind, message, gone, prove);
  } catch (error) {
    if (error !== gone) throw error;
    const ended = await lastResult(temporal, workflowId);
    throw ended === undefined
      ? gone
      : wrongMoment(`the promotion has ended ${ended.outcome}: ${ended.reason}`);
  }
}

/** The state of a promotion. `stopped`: its workflow was terminated or canceled. No `progress`: no worker answers. */
export type PromotionView =
  | { readonly state: 'none' }
  | { readonly state: 'running'; readonly progress: Progress | undefined }
  | { readonly state: 'ended'; readonly result: PromotionResult }
  | { readonly state: 'stopped'; readonly status: string };

/**
 * The state of a promotion: its running workflow, else the last one that Temporal keeps.
 * @param answering - whether a worker is known to answer: if not, a running promotion is not queried. Default: true.
 */
export async function viewPromotion(
  temporal: TemporalConnection,
  workflowId: string,
  answering = true,
): Promise<PromotionView> {
  const { client, settings } = temporal;
  try {
    const handle = client.workflow.getHandle(workflowId);
    const { status } = await handle.describe();
    switch (status.name) {
      case 'RUNNING':
        return {
          state: 'running',
          progress: answering ? await readProgress(temporal, workflowId) : undefined,
        };
      case 'COMPLETED':
      case 'FAILED':
        return { state: 'ended', result: await workflowResult<PromotionResult>(handle) };
      default:
        return { state: 'stopped', status: status.name.toLowerCase().replaceAll('_', ' ') };
    }
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { state: 'none' };
    if (error instanceof WorkflowFailedError) return { state: 'stopped', status: 'failed' };
    throw temporalError(error, settings);
  }
}

/** The result of the last promotion with a name; `undefined` if there was none or it has not ended. */
export async function lastResult(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<PromotionResult | undefined> {
  const view = await viewPromotion(temporal, workflowId);
  return view.state === 'ended' ? view.result : undefined;
}

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
