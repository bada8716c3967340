import { Context } from '@temporalio/activity';

import { isRecord } from '../domain/scalars.ts';
import { notYet } from './activityFailure.ts';
import { knownBefore, reportProgress } from './heartbeat.ts';

/** The time to compare with a deadline, both in milliseconds since 1970. */
export type Clock = (deadline: number) => number | Promise<number>;

/** The pause before the attempt that knows the time. */
const PAUSE_MS = 1_000;

/**
 * The time by Temporal's clock, in milliseconds since 1970: when this attempt was due. Workflows set deadlines by that
 * clock, and the worker's may be wrong. If only the worker's is past the deadline, either it is ahead, or the attempt
 * waited for a worker. Then this attempt ends as "not yet", so that the next one is not late.
 */
export function temporalTime(deadline: number): number {
  const due = Context.current().info.currentAttemptScheduledTimestampMs;
  const known = knownBefore();
  const isOnTime = isRecord(known) && known['isOnTime'] === true;
  if (due >= deadline || Date.now() < deadline || isOnTime) return due;
  const says = 'asking for the time by Temporal’s clock';
  reportProgress(says, { ...(isRecord(known) ? known : {}), isOnTime: true });
  throw notYet('SLIPWAY_STEP_TIMED_OUT', says, PAUSE_MS);
}

/**
 * A clock that goes on from when this attempt was due, by Temporal's clock. It is behind by the time that the attempt
 * waited for a worker.
 */
export function attemptClock(): () => number {
  const { currentAttemptScheduledTimestampMs: due } = Context.current().info;
  const began = performance.now();
  return () => due + performance.now() - began;
}
