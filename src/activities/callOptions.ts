import { Context } from '@temporalio/activity';

import { LONGEST_CALL_MS } from '../domain/stepTable.ts';

/** A call ends before its attempt's deadline, so that what is known of it is reported rather than lost. */
const SHARE_OF_ATTEMPT = 0.9;

/** How a call within an activity is ended: by the activity's cancellation, and in time for its deadline. */
export function callOptions(): { readonly signal: AbortSignal; readonly timeoutMs: number } {
  const { cancellationSignal, info } = Context.current();
  const timeoutMs = Math.min(LONGEST_CALL_MS, info.startToCloseTimeoutMs * SHARE_OF_ATTEMPT);
  return { signal: cancellationSignal, timeoutMs };
}
