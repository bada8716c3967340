import { defineQuery, defineSignal } from './define.ts';

import type { PlaceRules, PlaceStanding } from '../domain/promotion/places.ts';

/** A promotion requests or keeps a place. Arguments: its id, and the rules of its worker. */
export const enterPlaceSignal = defineSignal<[string, PlaceRules]>('enterPlace');
export const leavePlaceSignal = defineSignal<[string]>('leavePlace');
export const placeQuery = defineQuery<PlaceStanding, [string]>('place');

/** Whether a raw signal names a promotion. */
export function isPlaceId(id: unknown): id is string {
  return typeof id === 'string' && id !== '';
}

/** Whether a raw signal carries rules. */
export function arePlaceRules(rules: unknown): rules is PlaceRules {
  if (typeof rules !== 'object' || rules === null) return false;
  const { atOnce, apartMs } = rules as Partial<PlaceRules>;
  return isCount(atOnce) && isCount(apartMs);
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
