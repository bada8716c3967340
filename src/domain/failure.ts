import { isSpent, type Spent } from './check/budget.ts';
import { ERROR_CATALOGUE, type ErrorCode } from './errors.ts';
import { isRecord } from './scalars.ts';

/** The first detail of an activity's `ApplicationFailure`. The history contains it, so it has no secret. */
export interface FailureDetail {
  readonly code: ErrorCode;
  /** The HTTP status, if the service answered. */
  readonly status?: number;
  /** Whether the service may have applied the request although no answer arrived. */
  readonly mayHaveBeenTaken: boolean;
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  /** The service's `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number;
  /** What a check had used when it failed. Absent without a budget. */
  readonly spent?: Spent;
}

/** Failures after which the service may answer the next call. */
export const PASSING: ReadonlySet<ErrorCode> = new Set([
  'SLIPWAY_UNREACHABLE',
  'SLIPWAY_NO_ANSWER',
  'SLIPWAY_BAD_ANSWER',
  'SLIPWAY_RATE_LIMITED',
  'SLIPWAY_SERVICE_ERROR',
]);

/** Failures of a credential, which newer settings may avoid. */
export const CREDENTIAL_FAILED: ReadonlySet<ErrorCode> = new Set([
  'SLIPWAY_UNAUTHORIZED',
  'SLIPWAY_SECRET_MISSING',
  'SLIPWAY_SECRET_REFUSED',
]);

/** Whether a failure says nothing about the release: a service, its credentials or an answer is missing. */
export function isOutcomeUnknown(code: ErrorCode): boolean {
  return COULD_NOT_TELL.has(code);
}

const COULD_NOT_TELL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...PASSING,
  ...CREDENTIAL_FAILED,
  'SLIPWAY_EVALUATOR_FAILED',
  'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
  'SLIPWAY_WORKER_KILLED',
  'SLIPWAY_STEP_TIMED_OUT',
  'SLIPWAY_OUTCOME_UNKNOWN',
  'SLIPWAY_TEMPORAL_UNREACHABLE',
  'SLIPWAY_JUDGE_ERRORED',
]);

/** Reads a {@link FailureDetail}. Anyone may fail an activity through Temporal with other details. */
export function failureDetail(details: readonly unknown[] | null | undefined): FailureDetail | undefined {
  const first = details?.[0];
  return isFailureDetail(first) ? first : undefined;
}

function isFailureDetail(detail: unknown): detail is FailureDetail {
  if (!isRecord(detail)) return false;
  const { code, mayHaveBeenTaken, attempt, retryAfterMs, spent } = detail;
  return (
    typeof code === 'string' &&
    Object.hasOwn(ERROR_CATALOGUE, code) &&
    typeof mayHaveBeenTaken === 'boolean' &&
    typeof attempt === 'number' &&
    (retryAfterMs === undefined || typeof retryAfterMs === 'number') &&
    (spent === undefined || isSpent(spent))
  );
}
