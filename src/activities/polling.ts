import { Context } from '@temporalio/activity';

import type { ErrorCode } from '../domain/errors.ts';
import { notYet } from './activityFailure.ts';
import { reportProgress } from './heartbeat.ts';

/** One attempt polls for this long, then hands its slot back and is tried again: no events, no slot held. */
const ATTEMPT_MS = 60_000;
/** Of a shorter attempt. The rest is for the look that it is in when its time is over. */
const SHARE_OF_ATTEMPT = 0.5;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 3_000;
const PAUSE_GROWTH = 1.3;

/** Polls until there is an answer, and reports what there is instead at each look. */
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
  const pause = pausesUntil(shuttingDown);
  return async (code, look) => {
    const attemptMs = Math.min(ATTEMPT_MS, Context.current().info.startToCloseTimeoutMs * SHARE_OF_ATTEMPT);
    const started = Date.now();
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * PAUSE_GROWTH, LONGEST_PAUSE_MS)) {
      const seen = await look();
      if ('found' in seen) return seen.found;
      reportProgress(seen.insteadOf);
      const handBack = shuttingDown.aborted || Date.now() - started > attemptMs;
      if (handBack) throw notYet(code, seen.insteadOf, FIRST_PAUSE_MS);
      await pause(pauseMs);
    }
  };
}

/**
 * Makes pauses that end early when the worker is asked to end, or their activity is canceled: then they throw. They
 * share one listener of the worker's signal, which would otherwise have one for each poll (Node warns of 11), and leave
 * nothing behind in it, as `AbortSignal.any` would at every call.
 */
function pausesUntil(shuttingDown: AbortSignal): (milliseconds: number) => Promise<void> {
  const waiting = new Set<() => void>();
  const endAll = (): void => {
    for (const end of waiting) end();
  };
  shuttingDown.addEventListener('abort', endAll, { once: true });
  return async (milliseconds) => {
    const { cancellationSignal, cancelled } = Context.current();
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        waiting.delete(end);
        cancellationSignal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, milliseconds);
      waiting.add(end);
      cancellationSignal.addEventListener('abort', end);
      if (shuttingDown.aborted || cancellationSignal.aborted) end();
    });
    if (cancellationSignal.aborted) await cancelled;
  };
}
