/** How many promotions work at once: are judged, or have their target release. Waiting and watching costs nothing. */
export interface PlaceRules {
  /** 0: as many as there are. */
  readonly atOnce: number;
  /** The shortest time between two that begin, in milliseconds: those that are freed at once do not begin at once. */
  readonly apartMs: number;
}

/**
 * The rules where nobody sets others: as many as a control plane builds side by side without much ado, and judges that do
 * not slow each other down.
 */
export const PLACE_RULES: PlaceRules = { atOnce: 4, apartMs: 5_000 };

/** A promotion that has a place, or waits for one. Times in milliseconds since 1970. */
interface Placed {
  readonly id: string;
  /** When it was last heard of. */
  readonly seenAt: number;
}

/** Who has a place, and who waits for one, in the order in which they came. */
export interface Places {
  readonly rules: PlaceRules;
  readonly holders: readonly Placed[];
  readonly waiting: readonly Placed[];
  /** When a place was last given. */
  readonly givenAt: number;
}

/** How a promotion stands: `waits` behind so many, or `unknown`. */
export type PlaceStanding =
  { readonly state: 'has' | 'unknown' } | { readonly state: 'waits'; readonly ahead: number };

/** Nobody is there. */
export const NO_PLACES: Places = {
  rules: { atOnce: 0, apartMs: 0 },
  holders: [],
  waiting: [],
  givenAt: 0,
};

/** Whoever is not heard of for so long, in milliseconds, has ended without a word: its place is free. */
export const PLACE_LEASE_MS = 180_000;

/** Somebody asks for a place, or says that it still needs the one it has. */
export function enter(places: Places, id: string, rules: PlaceRules, now: number): Places {
  const seen = (placed: Placed): Placed => (placed.id === id ? { id, seenAt: now } : placed);
  const isNew = standing(places, id).state === 'unknown';
  const waiting = isNew ? [...places.waiting, { id, seenAt: now }] : places.waiting.map(seen);
  return give({ ...places, rules, holders: places.holders.map(seen), waiting }, now);
}

/** Somebody needs no place any longer, or waits for none. */
export function leave(places: Places, id: string, now: number): Places {
  const others = (placed: Placed): boolean => placed.id !== id;
  return give(
    { ...places, holders: places.holders.filter(others), waiting: places.waiting.filter(others) },
    now,
  );
}

/** Takes places back from those not heard of any more, and gives the next one where it is free and time. */
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

/** How somebody stands. */
export function standing({ holders, waiting }: Places, id: string): PlaceStanding {
  if (holders.some((placed) => placed.id === id)) return { state: 'has' };
  const place = waiting.findIndex((placed) => placed.id === id);
  return place < 0 ? { state: 'unknown' } : { state: 'waits', ahead: holders.length + place };
}
