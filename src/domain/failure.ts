import { ERROR_CATALOGUE, type ErrorCode } from './errors.ts';

/**
 * What an activity's `ApplicationFailure` carries as its first detail. The failure's `type` is the {@link ErrorCode};
 * nothing here may hold a secret, since it is kept in the workflow's history.
 */
export interface FailureDetail {
  readonly code: ErrorCode;
  /** HTTP status, where the service answered. */
  readonly status?: number;
  /** Whether the service may have carried out the request although nobody got its answer. */
  readonly mayHaveBeenTaken: boolean;
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  /** When the service asks to be tried again, in milliseconds from then. */
  readonly retryAfterMs?: number;
}

/**
 * Whether a failure says nothing of what is released: the services or their credentials are away, or an answer is
 * missing. A failed revision or check is bad news of the release itself, and a refused request is a mistake in it.
 */
export function isOutcomeUnknown(code: ErrorCode): boolean {
  return COULD_NOT_TELL.has(code);
}

const COULD_NOT_TELL: ReadonlySet<ErrorCode> = new Set([
  'SLIPWAY_UNREACHABLE',
  'SLIPWAY_NO_ANSWER',
  'SLIPWAY_BAD_ANSWER',
  'SLIPWAY_UNAUTHORIZED',
  'SLIPWAY_RATE_LIMITED',
  'SLIPWAY_SERVICE_ERROR',
  'SLIPWAY_SECRET_MISSING',
  'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
  'SLIPWAY_WORKER_KILLED',
  'SLIPWAY_STEP_TIMED_OUT',
  'SLIPWAY_OUTCOME_UNKNOWN',
  'SLIPWAY_TEMPORAL_UNREACHABLE',
  'SLIPWAY_JUDGE_ERRORED',
]);

/**
 * Reads a {@link FailureDetail} back from a failure's details; `undefined` where there is none. Anyone may fail an
 * activity with details of their own (`temporal activity fail`).
 */
export function failureDetail(details: readonly unknown[] | null | undefined): FailureDetail | undefined {
  const first = details?.[0];
  return isFailureDetail(first) ? first : undefined;
}

function isFailureDetail(detail: unknown): detail is FailureDetail {
  if (typeof detail !== 'object' || detail === null) return false;
  const { code, mayHaveBeenTaken, attempt, retryAfterMs }: Readonly<Record<string, unknown>> = { ...detail };
  return (
    typeof code === 'string' &&
    Object.hasOwn(ERROR_CATALOGUE, code) &&
    typeof mayHaveBeenTaken === 'boolean' &&
    typeof attempt === 'number' &&
    (retryAfterMs === undefined || typeof retryAfterMs === 'number')
  );
}
