import { errorText } from '@slipway/contract/codedError';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';

import { ServiceError } from '../clients/serviceError.ts';
import { cutText } from '../domain/bounds.ts';
import type { Spent } from '../domain/check/budget.ts';
import { type ErrorCode, SlipwayError, withHint } from '../domain/errors.ts';
import { type FailureDetail, PASSING } from '../domain/failure.ts';
import { backoffMs, grantedPauseMs } from '../domain/step.ts';

/** Failures that another attempt may fix. All others are final. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...PASSING,
  'SLIPWAY_NOT_SERVING',
  'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
  'SLIPWAY_TEMPORAL_UNREACHABLE',
  'SLIPWAY_TARGET_UNREADABLE',
]);

/** Whether another attempt may succeed. */
export function isRetryable(code: ErrorCode): boolean {
  return RETRYABLE.has(code);
}

/**
 * Converts an error to the failure that an activity throws: an `ApplicationFailure` whose type is the error's code
 * and whose detail is a {@link FailureDetail}. The error is no cause of it, because its stack does not belong in a
 * history.
 * @param spent - what a check had used of its budget.
 */
export function toActivityFailure(error: unknown, spent?: Spent): Error {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
  if (Context.current().cancellationSignal.aborted) return new CancelledFailure('canceled');
  const { attempt } = Context.current().info;
  if (error instanceof ServiceError) {
    const { code, status, mayHaveBeenTaken } = error;
    return failure(withHint(error), {
      code,
      mayHaveBeenTaken,
      attempt,
      status,
      retryAfterMs: error.retryAfterMs,
      spent,
    });
  }
  if (error instanceof SlipwayError) {
    const mayHaveBeenTaken = error.code === 'SLIPWAY_OUTCOME_UNKNOWN';
    return failure(withHint(error), { code: error.code, mayHaveBeenTaken, attempt, spent });
  }
  const message = errorText(error);
  return failure(message, { code: 'SLIPWAY_INTERNAL', mayHaveBeenTaken: true, attempt });
}

/** "Not there yet": ends this attempt benignly, so that waiting is no failure, and requests the next one. */
export function notYet(code: ErrorCode, message: string, nextRetryDelayMs: number): ApplicationFailure {
  const detail: FailureDetail = { code, mayHaveBeenTaken: false, attempt: Context.current().info.attempt };
  return ApplicationFailure.create({
    message: cutText(message, MESSAGE_MAX_BYTES),
    type: code,
    nonRetryable: false,
    nextRetryDelay: nextRetryDelayMs,
    category: ApplicationFailureCategory.BENIGN,
    details: [detail],
  });
}

/**
 * The pause that a service requested, limited so that the step gets one more attempt before its deadline. Never shorter
 * than the step's own pause: during an outage, short pauses would use its attempts up.
 */
function retryDelayMs(askedMs: number): number {
  const { attempt, retryPolicy = {}, ...info } = Context.current().info;
  const { scheduledTimestampMs: from, currentAttemptScheduledTimestampMs: due } = info;
  const { scheduleToCloseTimeoutMs: deadlineMs } = info;
  const { initialInterval = 0, backoffCoefficient = 1, maximumInterval = initialInterval } = retryPolicy;
  const own = { initialIntervalMs: Number(initialInterval), maximumIntervalMs: Number(maximumInterval) };
  return Math.max(
    backoffMs({ ...own, backoffCoefficient }, attempt),
    grantedPauseMs(askedMs, from + deadlineMs - due, deadlineMs),
  );
}

/** The longest failure message, as JSON, because a service may answer with any text. */
const MESSAGE_MAX_BYTES = 4_000;

function failure(message: string, detail: FailureDetail): ApplicationFailure {
  return ApplicationFailure.create({
    message: cutText(message, MESSAGE_MAX_BYTES),
    type: detail.code,
    nonRetryable: !isRetryable(detail.code),
    details: [detail],
    nextRetryDelay: detail.retryAfterMs === undefined ? undefined : retryDelayMs(detail.retryAfterMs),
  });
}
