import { Context } from '@temporalio/activity';

import { ServiceError } from '../../clients/serviceError.ts';
import { notYet } from '../activityFailure.ts';

/** How long the reads of a control plane may lag behind its own answers, in milliseconds. */
const LAG_MS = 10_000;
const RETRY_MS = 1_000;

/** Makes a call about something new. A replica may not know it yet: in a step's first 10 s, a 404 is "not yet". */
export async function despiteReadLag<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const isYoung = Date.now() < Context.current().info.scheduledTimestampMs + LAG_MS;
    if (!(error instanceof ServiceError && error.status === 404 && isYoung)) throw error;
    throw notYet(error.code, error.message, RETRY_MS);
  }
}
