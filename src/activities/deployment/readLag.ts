import { Context } from '@temporalio/activity';

import { ServiceError } from '../../clients/serviceError.ts';
import { notYet } from '../activityFailure.ts';

/** How long the reads of a control plane may lag behind its own answers, in milliseconds. */
const LAG_MS = 10_000;
const RETRY_MS = 1_000;

/**
 * Makes a call about a deployment or revision that the control plane may have made just now. The replica that answers
 * may not know it yet, so in the first 10 s of a step, a 404 means "not there yet".
 */
export async function despiteReadLag<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const isYoung = Date.now() < Context.current().info.scheduledTimestampMs + LAG_MS;
    if (!(error instanceof ServiceError && error.status === 404 && isYoung)) throw error;
    throw notYet(error.code, error.message, RETRY_MS);
  }
}
