import { Context } from '@temporalio/activity';

import type { ErrorCode } from '../domain/errors.ts';
import { notYet } from './activityFailure.ts';
import { knownSoFar, reportProgress } from './heartbeat.ts';

/** How long one attempt polls. Then it ends and is retried, which adds no event and frees the slot. */
const ATTEMPT_MS = 60_000;
/** The share of a shorter attempt's time to poll. The rest is for the read that is running when that time is over. */
const SHARE_OF_ATTEMPT = 0.5;
/** In the first 10 s, a change is seen within a twentieth of the elapsed time or 200 ms; then within a tenth. */
const SHORTEST_PAUSE_MS = 100;
const YOUNG_MS = 10_000;
const YOUNG_SHARE_OF_AGE = 0.05;
const LONGEST_YOUNG_PAUSE_MS = 200;
const SHARE_OF_AGE = 0.1;
const LONGEST_PAUSE_MS = 3_000;
/** For each running poll, so that all together read at most 200 times a second. */
const PAUSE_PER_POLL_MS = 5;

/** Polls until `look` finds what it waits for. At each read, reports what it found instead. */
export type PollUntil = <T>(
  code: ErrorCode,
  look: () => Promise<{ readonly found: T } | { readonly insteadOf: string }>,
) => Promise<T>;

/** A pause. It ends early and throws if the worker shuts down or its activity is canceled. */
export type Pause = (milliseconds: number) => Promise<void>;

/**
 * Creates polls that end with the worker. `look` returns what was waited for, or a text about what was found instead.
 *
 * In a local activity, a poll reads once. Elsewhere it throws a benign "not yet" failure after a minute, or at once
 * when the worker shuts down, so that another worker continues. The step's deadline limits the retries.
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
        reportProgress(seen.insteadOf, knownSoFar());
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

/** Creates pauses that share one listener, because Node warns from 11 on and `AbortSignal.any` leaks. */
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
