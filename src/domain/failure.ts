import { type ErrorCode } from './errors.ts';

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

/** Reads a {@link FailureDetail} back from a failure's details; `undefined` where there is none. */
export function failureDetail(details: readonly unknown[] | null | undefined): FailureDetail | undefined {
  const first = details?.[0];
  if (typeof first !== 'object' || first === null || !('code' in first)) return undefined;
  return first as FailureDetail;
}
