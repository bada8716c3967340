/** How many requests are let through: so many a second in the long run, and so many at once. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

/** One bucket of tokens per name, filling up again as time goes by. */
export interface TokenBuckets {
  /** Takes a token: 0, or how many milliseconds it is until there is one. */
  take(name: string): number;
  /** As `take`, but takes none. */
  wait(name: string): number;
}

/** How many names are remembered at most. Beyond that the fullest-looking are forgotten first: those unused longest. */
const MOST_NAMES = 10_000;

/** Makes {@link TokenBuckets}; `now` is a clock in milliseconds. */
export function createTokenBuckets(
  { perSecond, burst }: RateLimit,
  now: () => number = () => performance.now(),
): TokenBuckets {
  // In the order of their last use.
  const buckets = new Map<string, { tokens: number; at: number }>();

  const filled = (name: string): { tokens: number; at: number } => {
    const at = now();
    const bucket = buckets.get(name) ?? { tokens: burst, at };
    return { tokens: Math.min(burst, bucket.tokens + ((at - bucket.at) / 1_000) * perSecond), at };
  };
  const waitOf = (tokens: number): number =>
    tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / perSecond) * 1_000);

  return {
    take: (name) => {
      const bucket = filled(name);
      const wait = waitOf(bucket.tokens);
      if (wait === 0) bucket.tokens -= 1;
      buckets.delete(name);
      buckets.set(name, bucket);
      const [longestUnused] = buckets.keys();
      if (buckets.size > MOST_NAMES && longestUnused !== undefined) buckets.delete(longestUnused);
      return wait;
    },
    wait: (name) => waitOf(filled(name).tokens),
  };
}
