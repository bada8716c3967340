import { describe, expect, it } from 'vitest';

import { createTokenBuckets } from '../../src/access/tokenBuckets.ts';

describe('a bucket of tokens', () => {
  it('allows a burst, then the refill rate, and reports the wait until the next token', () => {
    let now = 0;
    const take = createTokenBuckets({ perSecond: 2, burst: 3 }, () => now);
    expect([1, 2, 3].map(() => take('a'))).toEqual([0, 0, 0]);
    expect(take('a')).toBe(500);
    expect(take('b')).toBe(0);
    now = 250;
    expect(take('a')).toBe(250);
    now = 500;
    expect(take('a')).toBe(0);
    expect(take('a')).toBe(500);
  });

  it('holds at most its burst after any pause', () => {
    let now = 0;
    const take = createTokenBuckets({ perSecond: 1, burst: 2 }, () => now);
    take('a');
    now = 1_000_000;
    expect([1, 2, 3].map(() => take('a'))).toEqual([0, 0, 1_000]);
  });

  it('remembers a bounded number of names', () => {
    const take = createTokenBuckets({ perSecond: 0.001, burst: 1 }, () => 0);
    take('first');
    for (let i = 0; i < 10_000; i++) take(`name ${i}`);
    expect(take('first')).toBe(0);
    expect(take('name 9999')).toBeGreaterThan(0);
  });
});
