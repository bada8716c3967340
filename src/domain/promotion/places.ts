/** How many promotions may judge or release at once. A promotion that waits or watches needs no place. */
export interface PlaceRules {
  /** 0: no limit. */
  readonly atOnce: number;
  /** The shortest time between two starts, in milliseconds, so that waiting promotions do not all start together. */
  readonly apartMs: number;
}

/** The defaults. A control plane builds this many at once, and this many judges do not slow each other down. */
export const PLACE_RULES: PlaceRules = { atOnce: 4, apartMs: 5_000 };

/** A promotion that has or wants a place. Times are milliseconds since 1970. */
interface Placed {
  readonly id: string;
  /** When it last signaled. */
  readonly seenAt: number;
}

/** The promotions that have or want places, in the order in which they came. */
export interface Places {
  readonly rules: PlaceRules;
  readonly holders: readonly Placed[];
  readonly waiting: readonly Placed[];
  /** When a place was last granted. */
  readonly givenAt: number;
}

/** A promotion's state: it has a place, waits behind `ahead` others, or is unknown. */
export type PlaceStanding =
  { readonly state: 'has' | 'unknown' } | { readonly state: 'waits'; readonly ahead: number };

export const NO_PLACES: Places = { rules: { atOnce: 0, apartMs: 0 }, holders: [], waiting: [], givenAt: 0 };

/** A promotion that has not signaled for this long, in milliseconds, has ended: its place is free. */
export const PLACE_LEASE_MS = 180_000;

/** A promotion requests a place, or renews its own. */
export function enter(places: Places, id: string, rules: PlaceRules, now: number): Places {
  const seen = (placed: Placed): Placed => (placed.id === id ? { id, seenAt: now } : placed);
  const isNew = standing(places, id).state === 'unknown';
  const waiting = isNew ? [...places.waiting, { id, seenAt: now }] : places.waiting.map(seen);
  return give({ ...places, rules, holders: places.holders.map(seen), waiting }, now);
}

/** A promotion returns its place, or stops waiting for one. */
export function leave(places: Places, id: string, now: number): Places {
  const others = (placed: Placed): boolean => placed.id !== id;
  return give(
    { ...places, holders: places.holders.filter(others), waiting: places.waiting.filter(others) },
    now,
  );
}

/** Frees expired places, and grants the next one if a place is free and enough time has passed. */
export function give(places: Places, now: number): Places {
  const lives = ({ seenAt }: Placed): boolean => now - seenAt < PLACE_LEASE_MS;
  const holders = places.holders.filter(lives);
  const [next, ...waiting] = places.waiting.filter(lives);
  const { atOnce, apartMs } = places.rules;
  const isFree = atOnce === 0 || holders.length < atOnce;
  if (next === undefined || !isFree || now - places.givenAt < apartMs) {
    return { ...places, holders, waiting: next === undefined ? [] : [next, ...waiting] };
  }
  return give({ ...places, holders: [...holders, next], waiting, givenAt: now }, now);
}

export function standing({ holders, waiting }: Places, id: string): PlaceStanding {
  if (holders.some((placed) => placed.id === id)) return { state: 'has' };
  const place = waiting.findIndex((placed) => placed.id === id);
  return place < 0 ? { state: 'unknown' } : { state: 'waits', ahead: holders.length + place };
}
