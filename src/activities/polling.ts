import { setTimeout } from 'node:timers/promises';

import { Context } from '@temporalio/activity';

import { type ErrorCode } from '../domain/errors.ts';
import { notYet } from './activityFailure.ts';

/** One attempt polls for this long, then hands its slot back and is tried again: no events, no slot held. */
const ATTEMPT_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 3_000;
const PAUSE_GROWTH = 1.3;

/** Polls until there is an answer, with a heartbeat at each look. */
export type PollUntil = <T>(
  code: ErrorCode,
  look: () => Promise<{ readonly found: T } | { readonly insteadOf: string }>,
) => Promise<T>;

/**
 * Makes polls that end with the worker. The pause between two looks grows, so that what is quick is seen at once and
 * what is slow costs little. `look` returns what was waited for, or what there is instead, in words.
 *
 * A poll throws a benign failure "not yet" after a minute, and at once when the worker is asked to end, so that
 * another worker goes on with it; the step's deadline bounds how often.
 */
export function pollsUntilShutdown(shuttingDown: AbortSignal): PollUntil {
  return async (code, look) => {
    const started = Date.now();
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * PAUSE_GROWTH, LONGEST_PAUSE_MS)) {
      const seen = await look();
      if ('found' in seen) return seen.found;
      Context.current().heartbeat(seen.insteadOf);
      const handBack = shuttingDown.aborted || Date.now() - started > ATTEMPT_MS;
      if (handBack) throw notYet(code, seen.insteadOf, FIRST_PAUSE_MS);
      await pause(pauseMs, shuttingDown);
    }
  };
}

/** Waits, at most until the worker is asked to end. @throws CancelledFailure when the activity is canceled. */
async function pause(milliseconds: number, shuttingDown: AbortSignal): Promise<void> {
  const { cancellationSignal, cancelled } = Context.current();
  const signal = AbortSignal.any([cancellationSignal, shuttingDown]);
  try {
    await setTimeout(milliseconds, undefined, { signal });
  } catch (error) {
    if (cancellationSignal.aborted) await cancelled;
    if (!shuttingDown.aborted) throw error;
  }
}
