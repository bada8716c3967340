import { HttpProblem } from '../http/problem.ts';
import { createTokenBuckets, type RateLimit } from './tokenBuckets.ts';

/** Ten at once, then one every six seconds. */
const FAILURES: RateLimit = { perSecond: 1 / 6, burst: 10 };

/**
 * Makes what counts keys that were not valid, by the address that they came from. It throws a 429 once they are too
 * many. Requests made inside the process have no address, and are not counted.
 */
export function createFailedAttempts(): (address: string | null) => void {
  const failures = createTokenBuckets(FAILURES);
  return (address) => {
    const wait = address === null ? 0 : failures.take(address);
    if (wait > 0) throw tooMany('This address sent too many invalid API keys.', wait);
  };
}

/** A 429 that says when to come back. */
export function tooMany(detail: string, waitMs: number): HttpProblem {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new HttpProblem(429, `${detail} Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  });
}
