import { Context } from '@temporalio/activity';

import { type ErrorCode } from '../domain/errors.ts';
import { notYet } from './activityFailure.ts';

/** One attempt polls for this long, then hands its slot back and is tried again: no events, no slot held. */
const ATTEMPT_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 3_000;
const PAUSE_GROWTH = 1.3;

/**
 * Polls until there is an answer, with a heartbeat at each look. The pause grows, so that what is quick is seen at
 * once and what is slow costs little.
 *
 * @param look - returns what was waited for, or what there is instead, in words.
 * @throws a benign failure "not yet" after a minute; the step's deadline bounds how often.
 */
export async function pollUntil<T>(
  code: ErrorCode,
  look: () => Promise<{ readonly found: T } | { readonly insteadOf: string }>,
): Promise<T> {
  const context = Context.current();
  const started = Date.now();
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * PAUSE_GROWTH, LONGEST_PAUSE_MS)) {
    const seen = await look();
    if ('found' in seen) return seen.found;
    context.heartbeat(seen.insteadOf);
    if (Date.now() - started > ATTEMPT_MS) throw notYet(code, seen.insteadOf, pauseMs);
    await context.sleep(pauseMs);
  }
}
