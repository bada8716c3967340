import { Context } from '@temporalio/activity';

import { notYet } from '../activities/activityFailure.ts';
import type { PollUntil } from '../activities/polling.ts';

/** How much longer is waited at each look, as a share of what was waited already. */
const GROWTH = 0.2;
const LEAST_MS = 1_000;
const MOST_MS = 5 * 60_000;

/**
 * Makes polls that look once in each attempt: while an attempt lasts no time is skipped, so that it is the wait before the
 * next one that lets it pass.
 *
 * @param now - the time that is skipped.
 */
export function pollsInSkippedTime(now: () => Promise<number>): PollUntil {
  return async (code, look) => {
    const seen = await look();
    if ('found' in seen) return seen.found;
    const waited = (await now()) - Context.current().info.scheduledTimestampMs;
    throw notYet(code, seen.insteadOf, Math.min(Math.max(waited * GROWTH, LEAST_MS), MOST_MS));
  };
}
