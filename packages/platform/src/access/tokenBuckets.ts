/** How many requests are let through: so many a second in the long run, and so many at once. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

/** How many names are remembered. Beyond that the one that was unused longest is forgotten. */
const MOST_NAMES = 10_000;

/**
 * One bucket of tokens per name, filling up again as time goes by. What it returns takes a token from a bucket: it answers
 * 0, or how many milliseconds it is until there is one. `now` is a clock in milliseconds.
 */
export function createTokenBuckets(
  { perSecond, burst }: RateLimit,
  now: () => number = () => performance.now(),
): (name: string) => number {
  // In the order of their last use.
  const buckets = new Map<string, { tokens: number; at: number }>();
  return (name) => {
    const at = now();
    const before = buckets.get(name) ?? { tokens: burst, at };
    const tokens = Math.min(burst, before.tokens + ((at - before.at) / 1_000) * perSecond);
    buckets.delete(name);
    buckets.set(name, { tokens: tokens >= 1 ? tokens - 1 : tokens, at });
    const [longestUnused] = buckets.keys();
    if (buckets.size > MOST_NAMES && longestUnused !== undefined) buckets.delete(longestUnused);
    return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / perSecond) * 1_000);
  };
}
