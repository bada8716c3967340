import { randomUUID } from 'node:crypto';

import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';

import { SlipwayError } from '../../../domain/errors.ts';
import type { Prove } from '../../../domain/identity/statement.ts';
import type { InterventionKind } from '../../../domain/intervention/intervention.ts';
import {
  type PromotionRequest,
  type PromotionResult,
  promotionWorkflowId,
} from '../../../domain/promotion/promotion.ts';
import type { Progress } from '../../../domain/release/release.ts';
import { SEARCH_ATTRIBUTES } from '../../../domain/searchAttributes.ts';
import { workflowResult } from '../../../domain/workflowResult.ts';
import type { InterventionMessage } from '../../../messages/release.ts';
import { WORKFLOW_TASK_TIMEOUT_MS, WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import { traceField } from '../../../traces/trace.ts';
import type { TemporalConnection } from '../connection.ts';
import { type Intervened, sayTo } from '../intervention/interventionClient.ts';
import { readProgress } from '../target/targetClient.ts';
import { temporalError, unansweredRequest } from '../temporalError.ts';
import { requireWorker } from '../workerPresence.ts';

/** How a promotion was asked for: begun, or joined where one of its name was under way. */
export interface PromotionStarted {
  readonly workflowId: string;
  readonly runId: string;
  readonly disposition: 'started' | 'joined';
}

/**
 * Starts a promotion. One of its name at a time: where one is under way it is joined.
 *
 * @throws SlipwayError SLIPWAY_NO_WORKER, SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function startPromotion(
  temporal: TemporalConnection,
  request: PromotionRequest,
): Promise<PromotionStarted> {
  const { client, settings } = temporal;
  const workflowId = promotionWorkflowId(request);
  await requireWorker(temporal);
  try {
    const handle = await client.workflow.start(WORKFLOW_TYPES.promotion, {
      workflowId,
      taskQueue: settings.taskQueue,
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      args: [{ request: { ...request, ...traceField() } }],
      typedSearchAttributes: new TypedSearchAttributes([
        { key: defineSearchAttributeKey(SEARCH_ATTRIBUTES.target, 'KEYWORD'), value: request.to.name },
        { key: defineSearchAttributeKey(SEARCH_ATTRIBUTES.outcome, 'KEYWORD'), value: 'running' },
      ]),
      staticSummary: `promotion ${request.name}: ${request.from.name} to ${request.to.name}`,
    });
    return { workflowId, runId: handle.firstExecutionRunId, disposition: 'started' };
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError))
      throw unansweredRequest(error, settings, 'the promotion may still start');
  }
  try {
    const { runId } = await client.workflow.getHandle(workflowId).describe();
    return { workflowId, runId, disposition: 'joined' };
  } catch (error) {
    throw temporalError(error, settings);
  }
}

/**
 * Says something to a promotion under way.
 *
 * @param prove - proves who says it. Absent: nothing is proved.
 * @returns what it answers; its `disposition` is `kept` where no worker answered, and Temporal keeps it.
 * @throws SlipwayError SLIPWAY_WRONG_MOMENT if it has no use for it now, or has ended: then with how.
 */
export async function intervenePromotion(
  temporal: TemporalConnection,
  workflowId: string,
  kind: InterventionKind,
  message: InterventionMessage,
  prove?: Prove,
): Promise<Intervened> {
  const identified = { ...message, requestId: message.requestId ?? randomUUID() };
  const gone = new SlipwayError('SLIPWAY_WRONG_MOMENT', 'no promotion of this name is under way');
  try {
    return await sayTo(temporal, { releaseId: null, workflowId }, kind, identified, gone, prove);
  } catch (error) {
    if (error !== gone) throw error;
    const ended = await lastResult(temporal, workflowId);
    throw ended === undefined
      ? gone
      : new SlipwayError('SLIPWAY_WRONG_MOMENT', `the promotion has ended ${ended.outcome}: ${ended.reason}`);
  }
}

/**
 * Where the promotion of a name stands. `stopped`: its workflow was ended from outside. No `progress`: no worker answers.
 */
export type PromotionView =
  | { readonly state: 'none' }
  | { readonly state: 'running'; readonly progress: Progress | undefined }
  | { readonly state: 'ended'; readonly result: PromotionResult }
  | { readonly state: 'stopped'; readonly status: string };

/**
 * Where the promotion of a name stands: the one that runs, else the last one that Temporal keeps.
 *
 * @param answering - whether a worker answers, as far as is known: else one that runs is not asked. Default: one does.
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
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

/** How the last promotion of a name ended; `undefined` if there was none, or it has not. */
export async function lastResult(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<PromotionResult | undefined> {
  const view = await viewPromotion(temporal, workflowId);
  return view.state === 'ended' ? view.result : undefined;
}
