import { ApplicationFailure, Context } from '@temporalio/activity';

import type { ErrorCode } from '../../src/domain/errors.ts';
import type { FailureDetail } from '../../src/domain/failure.ts';

/** An activity's failure, in the form of `src/domain/failure.ts`. */
export function failure(
  code: ErrorCode,
  how: { taken: boolean; final?: boolean; status?: number; retryAfterMs?: number },
): ApplicationFailure {
  const { attempt } = Context.current().info;
  const { taken: mayHaveBeenTaken, retryAfterMs, status } = how;
  const detail: FailureDetail = { code, mayHaveBeenTaken, attempt, status, retryAfterMs };
  return ApplicationFailure.create({
    message: `the world says ${code}`,
    type: code,
    nonRetryable: how.final ?? code === 'SLIPWAY_NOT_FOUND',
    details: [detail],
    nextRetryDelay: retryAfterMs,
  });
}
