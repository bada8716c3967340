import { Context } from '@temporalio/activity';

import { LONGEST_CALL_MS } from '../domain/stepTable.ts';

/** A call ends before its attempt's deadline, so that its failure is reported and not lost. */
const SHARE_OF_ATTEMPT = 0.9;

/** Limits of a call: the activity's cancellation, and the attempt's deadline. */
export function callOptions(): { readonly signal: AbortSignal; readonly timeoutMs: number } {
  const { cancellationSignal, info } = Context.current();
  const timeoutMs = Math.min(LONGEST_CALL_MS, info.startToCloseTimeoutMs * SHARE_OF_ATTEMPT);
  return { signal: cancellationSignal, timeoutMs };
}
