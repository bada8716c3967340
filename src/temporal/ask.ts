import {
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure, defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';

import { SlipwayError } from '../domain/errors.ts';
import { SEARCH_ATTRIBUTES } from '../domain/searchAttributes.ts';
import { WORKFLOW_TASK_TIMEOUT_MS, WORKFLOW_TYPES } from '../workflows/messages.ts';
import { TEMPORAL_ANSWERS_WITHIN_MS, type TemporalConnection } from './connection.ts';
import { temporalError } from './temporalError.ts';

/** How long a worker may take to take what a person asks for before it is left with Temporal, in milliseconds. */
export const ASK_TIMEOUT_MS = 5_000;

/** What is said to a workflow: by update, which answers; by signal, which waits for whoever listens. */
export interface Ask<T> {
  update(): Promise<T>;
  signal(): Promise<void>;
  /** What is thrown where there is no such workflow (any more). Default: that the target has never taken a release. */
  gone?(): SlipwayError;
}

/** Says it by update; where no worker answers in time, by signal, and then the answer is `undefined`. */
export async function ask<T>(
  temporal: TemporalConnection,
  workflowId: string,
  how: Ask<T>,
): Promise<T | undefined> {
  const { client, settings } = temporal;
  try {
    return await client.withDeadline(Date.now() + ASK_TIMEOUT_MS, () => how.update());
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) {
      if (how.gone !== undefined) throw how.gone();
      await startAgain(temporal, workflowId);
      return ask(temporal, workflowId, { ...how, gone: () => neverReleased(workflowId) });
    }
    if (!(error instanceof WorkflowUpdateRPCTimeoutOrCancelledError)) {
      throw refusal(error) ?? temporalError(error, settings);
    }
  }
  try {
    await client.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, () => how.signal());
    return undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw how.gone?.() ?? neverReleased(workflowId);
    throw temporalError(error, settings);
  }
}

/**
 * Starts a target again that was ended by hand: it reads what it knew from its earlier run, and takes what is said.
 *
 * @throws SlipwayError SLIPWAY_TARGET_NEVER_RELEASED where there was no earlier run.
 */
async function startAgain({ client, settings }: TemporalConnection, workflowId: string): Promise<void> {
  try {
    const { typedSearchAttributes } = await client.workflow.getHandle(workflowId).describe();
    const name = typedSearchAttributes.get(defineSearchAttributeKey(SEARCH_ATTRIBUTES.target, 'KEYWORD'));
    await client.workflow.start(WORKFLOW_TYPES.target, {
      ...targetStart(workflowId, name ?? workflowId),
      taskQueue: settings.taskQueue,
      args: [],
    });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw neverReleased(workflowId);
    throw temporalError(error, settings);
  }
}

/** How every run of a target is started, whoever starts it. */
export function targetStart(workflowId: string, name: string) {
  return {
    workflowId,
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
    workflowIdConflictPolicy: 'USE_EXISTING',
    typedSearchAttributes: new TypedSearchAttributes([
      { key: defineSearchAttributeKey(SEARCH_ATTRIBUTES.target, 'KEYWORD'), value: name },
    ]),
  } as const;
}

/** The target's own refusal, where that is what an update failed with. */
export function refusal(error: unknown): SlipwayError | undefined {
  if (!(error instanceof WorkflowUpdateFailedError) || !(error.cause instanceof ApplicationFailure)) {
    return undefined;
  }
  const { type, message } = error.cause;
  if (type === 'SLIPWAY_WRONG_MOMENT' || type === 'SLIPWAY_TARGET_UNREADABLE')
    return new SlipwayError(type, message, { cause: error });
  return new SlipwayError('SLIPWAY_USAGE', `the target refused: ${message}`, { cause: error });
}

export function neverReleased(workflowId: string): SlipwayError {
  return new SlipwayError('SLIPWAY_TARGET_NEVER_RELEASED', 'this target has never taken a release', {
    place: workflowId,
    hint: 'release once with "slipway release"; to put a revision back without it: slipway rollback --break-glass',
  });
}
