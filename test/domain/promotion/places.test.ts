import { describe, expect, it } from 'vitest';

import {
  enter,
  give,
  leave,
  NO_PLACES,
  PLACE_LEASE_MS,
  type Places,
  standing,
} from '../../../src/domain/promotion/places.ts';

const TWO = { atOnce: 2, apartMs: 0 };
const NOW = 1_000_000;

function afterAsking(ids: readonly string[], rules = TWO, now = NOW): Places {
  return ids.reduce((places, id) => enter(places, id, rules, now), NO_PLACES);
}

function holders({ holders: placed }: Places): readonly string[] {
  return placed.map(({ id }) => id);
}

describe('the slots of promotions', () => {
  it('are given in the order of requests, up to the limit', () => {
    const places = afterAsking(['a', 'b', 'c', 'd']);
    expect(holders(places)).toEqual(['a', 'b']);
    expect(standing(places, 'd')).toEqual({ state: 'waits', ahead: 3 });
    const next = leave(places, 'a', NOW);
    expect(holders(next)).toEqual(['b', 'c']);
    expect(standing(next, 'a')).toEqual({ state: 'unknown' });
  });

  it('are given with a pause between them, also if several become free at the same time', () => {
    const apart = { atOnce: 10, apartMs: 5_000 };
    const places = afterAsking(['a', 'b', 'c'], apart);
    expect(holders(places)).toEqual(['a']);
    expect(holders(give(places, NOW + 4_999))).toEqual(['a']);
    expect(holders(give(places, NOW + 5_000))).toEqual(['a', 'b']);
  });

  it('are held once and waited for once, even if requested repeatedly', () => {
    const places = afterAsking(['a', 'a', 'b', 'c', 'c']);
    expect(holders(places)).toEqual(['a', 'b']);
    expect(places.waiting).toHaveLength(1);
  });

  it('become free after a long silence of the holder; a silent waiter leaves the queue', () => {
    const places = afterAsking(['a', 'b', 'c', 'd']);
    const later = NOW + PLACE_LEASE_MS;
    const kept = enter(enter(places, 'b', TWO, later - 1), 'd', TWO, later - 1);
    expect(holders(give(kept, later))).toEqual(['b', 'd']);
  });

  it('are unlimited without a limit', () => {
    expect(holders(afterAsking(['a', 'b', 'c'], { atOnce: 0, apartMs: 0 }))).toEqual(['a', 'b', 'c']);
  });
});
