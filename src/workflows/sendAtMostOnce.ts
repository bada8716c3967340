import { type ApplicationFailure, condition } from '@temporalio/workflow';

import type { ErrorCode } from '../domain/errors.ts';
import type { RunningCall } from '../domain/heartbeat.ts';
import { backoffMs, grantedPauseMs, type StepPolicy } from '../domain/step.ts';
import { explain, pipelineFailure, type StepFailure } from './failure.ts';
import { now } from './journal.ts';
import { messageGate } from './target/messageGate.ts';

/** Failures after which the same request can never succeed. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  'SLIPWAY_UNAUTHORIZED',
  'SLIPWAY_NOT_FOUND',
  'SLIPWAY_CONFLICT',
  'SLIPWAY_REFUSED',
  'SLIPWAY_SECRET_MISSING',
  'SLIPWAY_SECRET_REFUSED',
  'SLIPWAY_INTERNAL',
]);

/** How long reads may lag behind an unanswered call, as a multiple of the step's `initialInterval`: 5 s by default. */
const READS_LAG = 5;

/** How long a control plane may take to know a deployment that it has created, in milliseconds. */
const NEW_MS = 10_000;

/** A call that was applied. */
export interface Sent<T> {
  readonly result: T;
  /** Whether it was answered. If not, a read showed that it was applied. */
  readonly answered: boolean;
  readonly attempts: number;
  readonly unknownAnswers: number;
}

/** Reads cannot show the outcome of an unanswered call, so the call is never sent again. */
export const OUTCOME_UNKNOWN: unique symbol = Symbol('outcome unknown');

/** What a read shows of an unanswered call: its result, or `undefined` if it was not applied so far. */
type Settled<T> = T | undefined | typeof OUTCOME_UNKNOWN;

interface Call<T> {
  readonly send: () => Promise<T>;
  /** Reads whether an unanswered call was applied. */
  readonly settle: () => Promise<Settled<T>>;
  readonly policy: StepPolicy;
  /** Why the last attempt failed, and until when others follow. */
  readonly onFailure: (found: RunningCall) => void;
  readonly abandoned: () => boolean;
  /** When the next freeze may begin, in milliseconds since 1970: nothing is sent from then on. Absent: never. */
  readonly nextFreezeAt?: number;
  /** Names the call in the message of the failure if its outcome is unknown. */
  readonly what: string;
  /** Whether an earlier attempt has an unknown outcome: then the deployment is read before the first attempt, too. */
  readonly sentBefore?: boolean;
  /** Whether the deployment was just created: a replica may not know it yet, so a 404 is no final answer at first. */
  readonly isNew?: boolean;
}

/**
 * Sends a call that changes the deployment, and makes sure that it is applied at most once (design, rule 2).
 *
 * If an attempt was certainly not applied, the call is sent again after a delay. If its outcome is unknown, the
 * deployment is read first. The call is sent again only if the read shows that it was not applied. After one missing
 * answer, each further attempt is preceded by a read, because an unanswered request can still be applied.
 * @throws the last failure, if attempts or time run out, the failure is final, or the call was abandoned;
 * SLIPWAY_TARGET_FROZEN. It says whether any attempt may have been applied.
 */
export async function sendAtMostOnce<T>(call: Call<T>): Promise<Sent<T>> {
  const { retry, scheduleToCloseMs } = call.policy;
  const started = Date.now();
  const deadline = started + scheduleToCloseMs;
  let unknownAnswers = 0;
  if (call.sentBefore === true) {
    unknownAnswers = 1;
    const settled = await settle(call, 'in an earlier attempt');
    if (settled === OUTCOME_UNKNOWN) throw cannotTell(call.what, 'in an earlier attempt', 0);
    if (settled !== undefined) return { result: settled, answered: false, attempts: 0, unknownAnswers };
  }
  for (let attempts = 1; ; attempts++) {
    if (Date.now() >= (call.nextFreezeAt ?? Infinity)) {
      const message = `a freeze may have begun before ${call.what} was taken`;
      throw pipelineFailure('SLIPWAY_TARGET_FROZEN', message, unknownAnswers > 0, attempts);
    }
    // A target knows and waits for only the run before the reset.
    if (messageGate().resets > 0) throw pipelineFailure('SLIPWAY_OUTCOME_UNKNOWN', RESET, true, attempts);
    let failure: StepFailure;
    try {
      return { result: await call.send(), answered: true, attempts, unknownAnswers };
    } catch (error) {
      failure = explain(error);
    }
    if (failure.mayHaveBeenTaken) unknownAnswers++;
    call.onFailure({ says: failure.message, since: now(), until: new Date(deadline).toISOString() });
    // Never sooner than the step's own pause: during an outage, short pauses would use its attempts up.
    const askedMs = grantedPauseMs(failure.retryAfterMs ?? 0, deadline - Date.now(), scheduleToCloseMs);
    const delayMs = Math.max(backoffMs(retry, attempts), askedMs);
    const exhausted = retry.maximumAttempts !== 0 && attempts >= retry.maximumAttempts;
    const last = isFinal(call, failure, started) || exhausted || Date.now() + delayMs > deadline;
    if (unknownAnswers > 0) {
      const settled = await settleTwice(call, failure, delayMs, deadline);
      if (settled === OUTCOME_UNKNOWN) throw cannotTell(call.what, failure.message, attempts);
      if (settled !== undefined) return { result: settled, answered: false, attempts, unknownAnswers };
    } else if (!last) {
      await condition(call.abandoned, delayMs);
    }
    if (last || call.abandoned()) {
      throw pipelineFailure(failure.code, failure.message, unknownAnswers > 0, attempts);
    }
  }
}

function isFinal(
  { isNew = false }: Call<unknown>,
  { code, mayHaveBeenTaken }: StepFailure,
  started: number,
): boolean {
  const isLag = code === 'SLIPWAY_NOT_FOUND' && isNew && Date.now() < started + NEW_MS;
  return !mayHaveBeenTaken && FINAL.has(code) && !isLag;
}

/** Reads, waits, and reads again: an unanswered request may still be on its way, and reads may lag behind it. */
async function settleTwice<T>(
  call: Call<T>,
  failure: StepFailure,
  delayMs: number,
  deadline: number,
): Promise<Settled<T>> {
  const settled = await settle(call, failure.message);
  if (settled !== OUTCOME_UNKNOWN && settled !== undefined) return settled;
  // A killed worker's successor has taken seconds to start: reads have caught up by then.
  const lag = failure.code === 'SLIPWAY_WORKER_KILLED' ? 1 : READS_LAG;
  const lagMs = Math.max(delayMs, lag * call.policy.retry.initialIntervalMs);
  const waitMs = Math.min(lagMs, Math.max(deadline - Date.now(), 0));
  if (waitMs > 0) await condition(call.abandoned, waitMs);
  return settle(call, failure.message);
}

const RESET =
  'the workflow was reset in Temporal, and its earlier run may have sent this request: it is not sent again';

function cannotTell(what: string, why: string, attempts: number): ApplicationFailure {
  return pipelineFailure(
    'SLIPWAY_OUTCOME_UNKNOWN',
    `${what} was sent and not answered (${why}), and reading the deployment does not show whether it was carried out`,
    true,
    attempts,
  );
}

/** If the read fails too, the failure says that the outcome is unknown. */
async function settle<T>(call: Call<T>, failedWith: string): Promise<Settled<T>> {
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
