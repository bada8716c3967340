import { type ApplicationFailure, condition } from '@temporalio/workflow';

import type { ErrorCode } from '../domain/errors.ts';
import { grantedPauseMs, type StepPolicy } from '../domain/step.ts';
import { explain, pipelineFailure, type StepFailure } from './failure.ts';

/** Answers that say the request can never succeed as it is. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  'SLIPWAY_UNAUTHORIZED',
  'SLIPWAY_NOT_FOUND',
  'SLIPWAY_CONFLICT',
  'SLIPWAY_REFUSED',
  'SLIPWAY_SECRET_MISSING',
  'SLIPWAY_SECRET_REFUSED',
  'SLIPWAY_INTERNAL',
]);

/** A call that was carried out. */
export interface Sent<T> {
  readonly result: T;
  /** Whether it was answered; otherwise reading showed that it was carried out. */
  readonly answered: boolean;
  readonly attempts: number;
  /** How many attempts have an unknown outcome. */
  readonly unknownAnswers: number;
}

/** Reading did not show an unknown call's outcome: the call is never sent again. */
export const OUTCOME_UNKNOWN: unique symbol = Symbol('outcome unknown');

/**
 * Carries out a call that changes the deployment, at most once as far as can be known (design, rule 2).
 *
 * Surely not taken: it is sent again after a delay. Unknown: the outside is read first, and the call is sent again
 * only when reading shows that it was not carried out, and never where reading cannot show that. Once one answer is
 * missing, the outside is read before each further attempt: what was given up on can land at any time.
 *
 * @throws the last failure, when attempts or time run out, the answer is final, or the call was abandoned. It says
 * whether any of the attempts may have been taken.
 */
export async function sendAtMostOnce<T>(call: {
  readonly send: () => Promise<T>;
  /** Reads whether an unknown call was carried out: its result, or `undefined` where it (so far) was not. */
  readonly settle: () => Promise<T | undefined | typeof OUTCOME_UNKNOWN>;
  readonly policy: StepPolicy;
  /** Whether it is no longer wanted. */
  readonly abandoned: () => boolean;
  /** What the call is, in words, for the failure that says that its outcome is unknown. */
  readonly what: string;
  /** Whether it was sent before with unknown outcome: then the service is read before the first attempt too. */
  readonly sentBefore?: boolean;
}): Promise<Sent<T>> {
  const { retry, scheduleToCloseMs } = call.policy;
  const deadline = Date.now() + scheduleToCloseMs;
  let unknownAnswers = 0;
  if (call.sentBefore === true) {
    unknownAnswers = 1;
    const settled = await settle(call, 'in an earlier attempt');
    if (settled === OUTCOME_UNKNOWN) throw cannotTell(call.what, 'in an earlier attempt', 0);
    if (settled !== undefined) return { result: settled, answered: false, attempts: 0, unknownAnswers };
  }
  for (let attempts = 1; ; attempts++) {
    let failure: StepFailure;
    try {
      return { result: await call.send(), answered: true, attempts, unknownAnswers };
    } catch (error) {
      failure = explain(error);
    }
    if (failure.mayHaveBeenTaken) unknownAnswers++;
    const { retryAfterMs } = failure;
    const delayMs =
      retryAfterMs === undefined
        ? backoff(retry, attempts)
        : grantedPauseMs(retryAfterMs, deadline - Date.now(), scheduleToCloseMs);
    const final = !failure.mayHaveBeenTaken && FINAL.has(failure.code);
    const exhausted = retry.maximumAttempts !== 0 && attempts >= retry.maximumAttempts;
    const last = final || exhausted || Date.now() + delayMs > deadline;
    if (unknownAnswers > 0) {
      // A request can be on its way still when its caller has given up: look, wait, and look again.
      let settled: T | undefined | typeof OUTCOME_UNKNOWN;
      for (const waitMs of [0, Math.min(delayMs, Math.max(deadline - Date.now(), 0))]) {
        if (waitMs > 0) await condition(call.abandoned, waitMs);
        settled = await settle(call, failure.message);
        if (settled === OUTCOME_UNKNOWN || settled === undefined) continue;
        return { result: settled, answered: false, attempts, unknownAnswers };
      }
      if (settled === OUTCOME_UNKNOWN) throw cannotTell(call.what, failure.message, attempts);
    } else if (!last) {
      await condition(call.abandoned, delayMs);
    }
    if (last || call.abandoned()) {
      throw pipelineFailure(failure.code, failure.message, unknownAnswers > 0, attempts);
    }
  }
}

function cannotTell(what: string, why: string, attempts: number): ApplicationFailure {
  return pipelineFailure(
    'SLIPWAY_OUTCOME_UNKNOWN',
    `${what} was sent and not answered (${why}), and reading the deployment does not show whether it was carried out`,
    true,
    attempts,
  );
}

/** Reading failed too: then nothing is known, and that is what is said. */
async function settle<T>(
  call: { readonly settle: () => Promise<T>; readonly what: string },
  failedWith: string,
): Promise<T> {
  try {
    return await call.settle();
  } catch (error) {
    throw pipelineFailure(
      'SLIPWAY_OUTCOME_UNKNOWN',
      `${call.what} was sent and not answered (${failedWith}), and the deployment could not be read: ${explain(error).message}`,
      true,
    );
  }
}

/** How long to wait before the attempt after this one, in milliseconds. */
export function backoff(retry: StepPolicy['retry'], attempts: number): number {
  const interval = retry.initialIntervalMs * retry.backoffCoefficient ** (attempts - 1);
  return Math.min(interval, retry.maximumIntervalMs);
}
