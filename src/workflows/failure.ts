import { errorText } from '@slipway/contract/codedError';
import { ActivityFailure, ApplicationFailure, isCancellation, TimeoutFailure } from '@temporalio/workflow';

import type { Spent } from '../domain/check/budget.ts';
import { ERROR_CATALOGUE, type ErrorCode } from '../domain/errors.ts';
import { failureDetail, type FailureDetail } from '../domain/failure.ts';
import { readHeartbeat, spentBefore } from '../domain/heartbeat.ts';
import { needsPerson, type Outcome } from '../domain/release/outcome.ts';

/** Why a step failed, read from what Temporal threw. */
export interface StepFailure {
  readonly code: ErrorCode;
  readonly message: string;
  /** Whether the service may have applied the request although no answer arrived. */
  readonly mayHaveBeenTaken: boolean;
  /** The service's `Retry-After`, in milliseconds, if it sent one. */
  readonly retryAfterMs: number | undefined;
  /** What a check had used of its budget. */
  readonly spent?: Spent | undefined;
  readonly canceled: boolean;
  readonly attempts: number;
}

/** Reads why a step failed. Never throws. */
export function explain(error: unknown): StepFailure {
  if (isCancellation(error)) return { ...unknownFailure('canceled'), canceled: true };
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) {
    const detail = failureDetail(cause.details);
    return {
      code: codeOf(cause, detail),
      message: cause.message,
      // Without details (such as the failure of an activity that was reset), assume that the request was sent.
      mayHaveBeenTaken: detail?.mayHaveBeenTaken ?? true,
      retryAfterMs: detail?.retryAfterMs,
      spent: detail?.spent,
      canceled: false,
      attempts: detail?.attempt ?? 1,
    };
  }
  if (cause instanceof TimeoutFailure) return explainTimeout(cause);
  return unknownFailure(errorText(cause));
}

/** A failure that the workflow itself detects. Thrown in a step, it ends the step. */
export function pipelineFailure(
  code: ErrorCode,
  message: string,
  mayHaveBeenTaken = false,
  attempt = 1,
): ApplicationFailure {
  const detail: FailureDetail = { code, mayHaveBeenTaken, attempt };
  return ApplicationFailure.create({ message, type: code, nonRetryable: true, details: [detail] });
}

/**
 * Ends a release, a rollback or a promotion with its result. If a person is needed, the workflow fails, so that
 * Temporal's lists, metrics and alerts show it. The failure carries the result, which `workflowResult` in the domain
 * reads.
 *
 * Call it last: no part of the workflow may catch the failure.
 */
export function endWorkflow<R extends { readonly outcome: Outcome; readonly reason: string }>(result: R): R {
  const { outcome, reason } = result;
  if (!needsPerson(outcome)) return result;
  throw ApplicationFailure.create({ message: reason, type: outcome, nonRetryable: true, details: [result] });
}

/** Rejects an update from its validator. The sender gets the sentence. */
export function refuse(
  problem: string,
  type:
    | 'SLIPWAY_USAGE'
    | 'SLIPWAY_WRONG_MOMENT'
    | 'SLIPWAY_TARGET_UNREADABLE'
    | 'SLIPWAY_IDENTITY_UNPROVED' = 'SLIPWAY_USAGE',
): never {
  throw ApplicationFailure.create({ message: problem, type, nonRetryable: true });
}

/** Explains a timeout by the last attempt's failure. What was not answered in time may have been applied. */
function explainTimeout(timeout: TimeoutFailure): StepFailure {
  const { cause, lastHeartbeatDetails } = timeout;
  const failed = cause instanceof ApplicationFailure ? cause : undefined;
  // Temporal gives no cause if an attempt runs at the deadline: the attempt's heartbeat says what it found.
  const last = failed?.message ?? readHeartbeat(lastHeartbeatDetails)?.says;
  const detail = failed === undefined ? undefined : failureDetail(failed.details);
  return {
    ...unknownFailure(`not done before its deadline${last === undefined ? '' : `; at last: ${last}`}`),
    code: 'SLIPWAY_STEP_TIMED_OUT',
    spent: detail?.spent ?? spentBefore(lastHeartbeatDetails),
    attempts: detail?.attempt ?? 1,
  };
}

function unknownFailure(message: string): StepFailure {
  return {
    code: 'SLIPWAY_INTERNAL',
    message,
    mayHaveBeenTaken: true,
    retryAfterMs: undefined,
    canceled: false,
    attempts: 1,
  };
}

function codeOf(failure: ApplicationFailure, detail: FailureDetail | undefined): ErrorCode {
  if (detail !== undefined) return detail.code;
  const type = failure.type ?? '';
  return type in ERROR_CATALOGUE ? (type as ErrorCode) : 'SLIPWAY_INTERNAL';
}
