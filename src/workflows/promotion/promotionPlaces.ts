import { continueAsNew, setHandler, sleep, workflowInfo } from '@temporalio/workflow';

import { enter, give, leave, NO_PLACES, type Places, standing } from '../../domain/promotion/places.ts';
import {
  arePlaceRules,
  enterPlaceSignal,
  isPlaceId,
  leavePlaceSignal,
  placeQuery,
} from '../../messages/promotionPlaces.ts';

/** How often it checks whether it is still needed. Waiting promotions ask by themselves, which is what gives places. */
const LOOK_MS = 60_000;
/** The longest history before it carries on as a new run. */
const EVENTS_MAX = 1_500;

/**
 * The places of promotions that work at once: one workflow for all promotions of a task queue, which lives while there
 * is one of them. Whoever has a place, or waits for one, says so again and again; who does not loses it.
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
