import { Context } from '@temporalio/activity';

import { LONGEST_CALL_MS } from '../domain/stepTable.ts';

/** A call ends before its attempt's deadline, so that its failure is reported and not lost. */
const SHARE_OF_ATTEMPT = 0.9;

/** The longest call to a service that answers at once: a metric, a receiver of notices, a comment. */
export const SHORT_CALL_MS = 10_000;

/** Limits of a call: the activity's cancellation, and the attempt's deadline, or `longestMs` if that is sooner. */
export function callOptions(longestMs = LONGEST_CALL_MS): {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
} {
  const { cancellationSignal, info } = Context.current();
  const timeoutMs = Math.min(longestMs, info.startToCloseTimeoutMs * SHARE_OF_ATTEMPT);
  return { signal: cancellationSignal, timeoutMs };
}
