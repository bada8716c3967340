import { errorText } from '@slipway/contract/codedError';
import { ApplicationFailure, Context } from '@temporalio/activity';
import { type Client, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';

import { SlipwayError } from '../domain/errors.ts';

/** A target answers at once, unless no worker runs it. */
const LONGEST_ANSWER_MS = 30_000;

/**
 * Calls Temporal. A rejected call fails for good. One without an answer is retried, and one to a target that has not read
 * its earlier state yet.
 */
export async function askTemporal<T>(ask: (client: Client) => Promise<T>): Promise<T> {
  const { client, info } = Context.current();
  try {
    return await client.withDeadline(
      Date.now() + Math.min(LONGEST_ANSWER_MS, info.startToCloseTimeoutMs),
      () => ask(client),
    );
  } catch (error) {
    if (error instanceof SlipwayError || error instanceof ApplicationFailure) throw error;
    const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
    if (isNotReady(error)) throw new SlipwayError('SLIPWAY_TARGET_UNREADABLE', errorText(cause));
    if (cause !== undefined)
      throw new SlipwayError('SLIPWAY_REFUSED', `the target rejected the message: ${cause.message}`);
    const message = errorText(error);
    throw new SlipwayError('SLIPWAY_TEMPORAL_UNREACHABLE', message, { cause: error });
  }
}

/** Whether a target refused an update because it has not read its earlier state yet. It repeats that for this id. */
export function isNotReady(error: unknown): boolean {
  const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
  return cause instanceof ApplicationFailure && cause.type === 'SLIPWAY_TARGET_UNREADABLE';
}

/** The answer of a workflow; `undefined` if Temporal has none with that id, or it has ended. */
export async function ifThere<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
