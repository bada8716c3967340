import { continueAsNew, setHandler, sleep, workflowInfo } from '@temporalio/workflow';

import { enter, give, leave, NO_PLACES, type Places, standing } from '../../domain/promotion/places.ts';
import {
  arePlaceRules,
  enterPlaceSignal,
  isPlaceId,
  leavePlaceSignal,
  placeQuery,
} from '../../messages/promotion.ts';

/** How often to check whether it is still needed. Places are given when waiting promotions ask. */
const LOOK_MS = 60_000;
const EVENTS_MAX = 1_500;

/**
 * Limits how many promotions work at once. There is one such workflow for all promotions of a task queue, and it ends
 * when none is left. Promotions that have or want a place repeat their signal. One that stops repeating loses its
 * place.
 */
export async function promotionPlaces(carried: Places = NO_PLACES): Promise<void> {
  let places = carried;
  setHandler(enterPlaceSignal, (id, rules) => {
    if (isPlaceId(id) && arePlaceRules(rules)) places = enter(places, id, rules, Date.now());
  });
  setHandler(leavePlaceSignal, (id) => {
    if (isPlaceId(id)) places = leave(places, id, Date.now());
  });
  setHandler(placeQuery, (id) => standing(places, id));
  for (;;) {
    await sleep(LOOK_MS);
    places = give(places, Date.now());
    if (places.holders.length + places.waiting.length === 0) return;
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    if (continueAsNewSuggested || historyLength > EVENTS_MAX)
      await continueAsNew<typeof promotionPlaces>(places);
  }
}
