/** A rate limit: a long-term rate, and a burst. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

/** The most names in memory. Beyond that, the least recently used one is dropped. */
const MAX_BUCKETS = 10_000;

/** A token bucket per name. The returned function takes a token: 0, or the milliseconds until there is one. */
export function createTokenBuckets(
  { perSecond, burst }: RateLimit,
  now: () => number = () => performance.now(),
): (name: string) => number {
  // Ordered by last use.
  const buckets = new Map<string, { tokens: number; at: number }>();
  return (name) => {
    const at = now();
    const bucket = buckets.get(name) ?? { tokens: burst, at };
    const tokens = Math.min(burst, bucket.tokens + ((at - bucket.at) / 1_000) * perSecond);
    buckets.delete(name);
    buckets.set(name, { tokens: tokens >= 1 ? tokens - 1 : tokens, at });
    const [longestUnused] = buckets.keys();
    if (buckets.size > MAX_BUCKETS && longestUnused !== undefined) buckets.delete(longestUnused);
    return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / perSecond) * 1_000);
  };
}
