import { setTimeout } from 'node:timers/promises';

import { Context } from '@temporalio/activity';

import type { ErrorCode } from '../domain/errors.ts';
import { notYet } from './activityFailure.ts';
import { withHeartbeat } from './heartbeat.ts';

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
    let instead = 'looking';
    return withHeartbeat(
      () => instead,
      async () => {
        for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * PAUSE_GROWTH, LONGEST_PAUSE_MS)) {
          const seen = await look();
          if ('found' in seen) return seen.found;
          instead = seen.insteadOf;
          Context.current().heartbeat(instead);
          const handBack = shuttingDown.aborted || Date.now() - started > ATTEMPT_MS;
          if (handBack) throw notYet(code, instead, FIRST_PAUSE_MS);
          await pause(pauseMs, shuttingDown);
        }
      },
    );
  };
}

/**
 * Waits, at most until the worker is asked to end. `AbortSignal.any` would do in fewer words, but leaves something
 * behind in `shuttingDown` at every call, for as long as the worker lives.
 *
 * @throws CancelledFailure when the activity is canceled.
 */
async function pause(milliseconds: number, shuttingDown: AbortSignal): Promise<void> {
  const { cancellationSignal, cancelled } = Context.current();
  const end = new AbortController();
  const onEnd = (): void => end.abort();
  shuttingDown.addEventListener('abort', onEnd, { once: true });
  cancellationSignal.addEventListener('abort', onEnd, { once: true });
  try {
    if (shuttingDown.aborted || cancellationSignal.aborted) end.abort();
    await setTimeout(milliseconds, undefined, { signal: end.signal });
  } catch (error) {
    if (cancellationSignal.aborted) await cancelled;
    if (!shuttingDown.aborted) throw error;
  } finally {
    shuttingDown.removeEventListener('abort', onEnd);
    cancellationSignal.removeEventListener('abort', onEnd);
  }
}
