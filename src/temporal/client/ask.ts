import { randomUUID } from 'node:crypto';

import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, type SignalDefinition, type UpdateDefinition } from '@temporalio/common';

import { SlipwayError } from '../../domain/errors.ts';
import type { TargetState } from '../../domain/target/targetState.ts';
import { viewQuery } from '../../messages/target.ts';
import { TEMPORAL_ANSWERS_WITHIN_MS, type TemporalConnection } from './connection.ts';
import { pause } from './pause.ts';
import { refuseStuck, startAgain } from './stuckTask.ts';
import { isUntaken, temporalError, unansweredRequest } from './temporalError.ts';

/** How long a worker may take to accept a person's message before it is sent as a signal, in milliseconds. */
export const ASK_TIMEOUT_MS = 5_000;

/** A message to a workflow: as an update, which answers, or as a signal, which waits for a worker. */
export interface Ask<T, Message> {
  readonly update: UpdateDefinition<T, [Message]>;
  readonly signal: SignalDefinition<[Message?]>;
  readonly message: Message;
  /** Temporal answers a repeated id with the first answer. Default: a new one. */
  readonly updateId?: string;
  /** The error if the workflow does not exist (any longer). Default: the target has never accepted a release. */
  gone?(): SlipwayError;
}

/** Sends the update. If no worker answers in time, sends the signal instead and returns `undefined`. */
export async function ask<T, Message>(
  temporal: TemporalConnection,
  workflowId: string,
  how: Ask<T, Message>,
): Promise<T | undefined> {
  const { client, settings } = temporal;
  const { message } = how;
  const handle = client.workflow.getHandle(workflowId);
  const send = (updateId: string | undefined): Promise<T> =>
    client.withDeadline(Date.now() + ASK_TIMEOUT_MS, () =>
      handle.executeUpdate(how.update, { args: [message], updateId }),
    );
  try {
    return await send(how.updateId).catch(async (error: unknown) => {
      if ((await stateAfterReset(temporal, workflowId, error)) === undefined) throw error;
      return send(randomUUID());
    });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) {
      if (how.gone !== undefined) throw how.gone();
      await startAgain(temporal, workflowId).catch((failure: unknown) => {
        throw failure instanceof WorkflowNotFoundError
          ? neverReleased(workflowId)
          : temporalError(failure, settings);
      });
      return ask(temporal, workflowId, { ...how, gone: () => neverReleased(workflowId) });
    }
    if (!isUntaken(error)) throw refusal(error) ?? unansweredRequest(error, settings, MAY_HAPPEN);
  }
  await refuseStuck(temporal, workflowId);
  try {
    await client.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, () =>
      handle.signal(how.signal, message),
    );
    return undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw how.gone?.() ?? neverReleased(workflowId);
    throw unansweredRequest(error, settings, MAY_HAPPEN);
  }
}

/** How long a target may take to read its earlier state after a reset, in milliseconds. */
const READS_WITHIN_MS = 5_000;
const LOOK_MS = 100;

/**
 * Waits until a target that refused an update, because it was reset a moment ago, has read its earlier state. Temporal
 * answers the id of that update with the same refusal again.
 * @returns the state; `undefined` if the update failed for another reason, or the target cannot read its state.
 */
export async function stateAfterReset(
  { client }: TemporalConnection,
  workflowId: string,
  error: unknown,
): Promise<TargetState | undefined> {
  if (refusal(error)?.code !== 'SLIPWAY_TARGET_UNREADABLE') return undefined;
  const giveUpAt = Date.now() + READS_WITHIN_MS;
  const look = () => client.workflow.getHandle(workflowId).query(viewQuery);
  while (Date.now() < giveUpAt) {
    const view = await client.withDeadline(giveUpAt, look).catch(() => undefined);
    if (view !== undefined && view.recovering !== true) return view.state;
    // One that cannot read its state is on hold until it can.
    if (view === undefined || view.state.hold !== null) return undefined;
    await pause(LOOK_MS, undefined);
  }
  return undefined;
}

const MAY_HAPPEN = 'what was asked for may still happen';

/** The target's reason if it rejected an update; else `undefined`. */
export function refusal(error: unknown): SlipwayError | undefined {
  if (!(error instanceof WorkflowUpdateFailedError) || !(error.cause instanceof ApplicationFailure)) {
    return undefined;
  }
  const { type, message } = error.cause;
  if (type === 'SLIPWAY_WRONG_MOMENT') return wrongMoment(message, error);
  if (type === 'SLIPWAY_TARGET_UNREADABLE' || type === 'SLIPWAY_IDENTITY_UNPROVED')
    return new SlipwayError(type, message, { cause: error });
  return rejected(message, error);
}

export function rejected(message: string, cause?: unknown): SlipwayError {
  const hint = 'correct it; what the target knows: slipway history';
  return new SlipwayError('SLIPWAY_USAGE', `the target rejected the message: ${message}`, { hint, cause });
}

export function wrongMoment(message: string, cause?: unknown): SlipwayError {
  const hint = 'see what runs and waits: slipway status';
  return new SlipwayError('SLIPWAY_WRONG_MOMENT', message, { hint, cause });
}

export function neverReleased(workflowId: string): SlipwayError {
  return new SlipwayError('SLIPWAY_TARGET_NEVER_RELEASED', 'this target has never taken a release', {
    place: workflowId,
    hint: 'release once with "slipway release"; to restore a revision without one: slipway rollback --break-glass',
  });
}

/** The error for a release id that a target does not know. `known`: the ids that it knows, newest first. */
export function releaseUnknown(target: string, wanted: string, known: readonly string[]): SlipwayError {
  return new SlipwayError('SLIPWAY_RELEASE_UNKNOWN', `"${target}" knows no release "${wanted}"`, {
    hint:
      known.length === 0
        ? 'it has never taken one'
        : `its last releases: ${known.slice(0, KNOWN_SHOWN).join(', ')}; list all: slipway history ${target}`,
  });
}

const KNOWN_SHOWN = 5;
