import { Context } from '@temporalio/activity';

import type { ErrorCode } from '../domain/errors.ts';
import { notYet } from './activityFailure.ts';
import { reportProgress } from './heartbeat.ts';

/** One attempt polls for this long, then hands its slot back and is tried again: no events, no slot held. */
const ATTEMPT_MS = 60_000;
/** Of a shorter attempt. The rest is for the look that it is in when its time is over. */
const SHARE_OF_ATTEMPT = 0.5;
/** What takes up to ten seconds is seen within a twentieth of its time or 200 ms; what takes longer, within a tenth. */
const SHORTEST_PAUSE_MS = 100;
const YOUNG_MS = 10_000;
const YOUNG_SHARE_OF_AGE = 0.05;
const LONGEST_YOUNG_PAUSE_MS = 200;
const SHARE_OF_AGE = 0.1;
const LONGEST_PAUSE_MS = 3_000;
/** For each poll that runs: all of them together look at most 200 times a second. */
const PAUSE_PER_POLL_MS = 5;

/** Polls until there is an answer, and reports what there is instead at each look. */
export type PollUntil = <T>(
  code: ErrorCode,
  look: () => Promise<{ readonly found: T } | { readonly insteadOf: string }>,
) => Promise<T>;

/** A pause that ends early when the worker is asked to end, or its activity is canceled: then it throws. */
export type Pause = (milliseconds: number) => Promise<void>;

/**
 * Makes polls that end with the worker. `look` returns what was waited for, or what there is instead, in words.
 *
 * A poll within a workflow task looks once. Elsewhere it throws a benign failure "not yet" after a minute, and at once when the worker is asked to end, so that
 * another worker goes on with it; the step's deadline bounds how often.
 */
export function pollsUntilShutdown(shuttingDown: AbortSignal, pause: Pause): PollUntil {
  let polls = 0;
  return async (code, look) => {
    const { startToCloseTimeoutMs, isLocal } = Context.current().info;
    const attemptMs = isLocal ? 0 : Math.min(ATTEMPT_MS, startToCloseTimeoutMs * SHARE_OF_ATTEMPT);
    const started = Date.now();
    polls++;
    try {
      for (;;) {
        const seen = await look();
        if ('found' in seen) return seen.found;
        reportProgress(seen.insteadOf);
        const ageMs = Date.now() - started;
        if (shuttingDown.aborted || ageMs >= attemptMs) throw notYet(code, seen.insteadOf, SHORTEST_PAUSE_MS);
        await pause(Math.max(pauseAfter(ageMs), polls * PAUSE_PER_POLL_MS));
      }
    } finally {
      polls--;
    }
  };
}

function pauseAfter(ageMs: number): number {
  if (ageMs >= YOUNG_MS) return Math.min(ageMs * SHARE_OF_AGE, LONGEST_PAUSE_MS);
  return Math.min(Math.max(ageMs * YOUNG_SHARE_OF_AGE, SHORTEST_PAUSE_MS), LONGEST_YOUNG_PAUSE_MS);
}

/**
 * Makes pauses. They share one listener of the worker's signal, which would otherwise have one for each poll (Node warns
 * of 11), and leave nothing behind in it, as `AbortSignal.any` would at every call.
 */
export function pausesUntil(shuttingDown: AbortSignal): Pause {
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
