/** Pseudo-random numbers from 0 to below 1. The same seed gives the same numbers on any machine. */
export type Random = () => number;

/** A source of {@link Random} numbers: the generator "mulberry32". */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The items in a random order (Fisher-Yates). */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const chosen = Math.floor(random() * (last + 1));
    [order[last], order[chosen]] = [order[chosen] as T, order[last] as T];
  }
  return order;
}

/** Draws at most `count` items with equal probability, in one pass over any number of items (reservoir sampling). */
export async function sample<T>(items: AsyncIterable<T>, count: number, random: Random): Promise<T[]> {
  const drawn: T[] = [];
  let seen = 0;
  for await (const item of items) {
    seen += 1;
    if (drawn.length < count) {
      drawn.push(item);
      continue;
    }
    const place = Math.floor(random() * seen);
    if (place < count) drawn[place] = item;
  }
  return drawn;
}
