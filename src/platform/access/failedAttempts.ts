import { HttpProblem } from '../http/problem.ts';
import { createTokenBuckets, type RateLimit } from './tokenBuckets.ts';

/** Addresses from which keys are tried. */
export interface FailedAttempts {
  /**
   * Lets an attempt through, or not. A key that was right from the same address before always is: a stranger behind the
   * same proxy locks nobody out.
   * @throws HttpProblem 429 where too many attempts of the address have failed.
   */
  check(address: string | null, keyHash: string): void;
  /** Counts an attempt that failed. */
  failed(address: string | null): void;
  succeeded(address: string | null, keyHash: string): void;
}

/** Ten at once, then one every six seconds. */
const FAILURES: RateLimit = { perSecond: 1 / 6, burst: 10 };
const MOST_REMEMBERED = 10_000;

/** Makes {@link FailedAttempts}. Requests made inside the process have no address, and are not counted. */
export function createFailedAttempts(): FailedAttempts {
  const failures = createTokenBuckets(FAILURES);
  const right = new Set<string>();
  return {
    check: (address, keyHash) => {
      if (address === null || right.has(`${address} ${keyHash}`)) return;
      const wait = failures.wait(address);
      if (wait > 0) throw tooMany('Too many API keys that are not valid came from this address.', wait);
    },
    failed: (address) => {
      if (address !== null) failures.take(address);
    },
    succeeded: (address, keyHash) => {
      if (address === null) return;
      if (right.size >= MOST_REMEMBERED) right.clear();
      right.add(`${address} ${keyHash}`);
    },
  };
}

/** A 429 that says when to come back. */
export function tooMany(detail: string, waitMs: number): HttpProblem {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new HttpProblem(429, `${detail} Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  });
}
