import { type Environment, setting } from '../../../config/environment.ts';
import { parseDuration } from '../../../domain/duration.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { PLACE_RULES, type PlaceRules } from '../../../domain/promotion/places.ts';

const AT_ONCE = 'SLIPWAY_PROMOTIONS_AT_ONCE';
const APART = 'SLIPWAY_PROMOTIONS_APART';

/**
 * How many promotions run at once. This is a setting of the worker, because many repositories share one.
 * @throws SLIPWAY_USAGE if one of the two variables is invalid.
 */
export function placeRules(environment: Environment): PlaceRules {
  const [atOnce, apart] = [setting(environment, AT_ONCE), setting(environment, APART)];
  if (atOnce !== undefined && !/^\d{1,6}$/.test(atOnce)) throw wrong(AT_ONCE, 'a whole number; 0: no limit');
  const apartMs = apart === undefined ? PLACE_RULES.apartMs : parseDuration(apart);
  if (apartMs === undefined) throw wrong(APART, 'a duration such as 5s');
  return { atOnce: atOnce === undefined ? PLACE_RULES.atOnce : Number(atOnce), apartMs };
}

function wrong(name: string, expected: string): SlipwayError {
  const hint = `expected ${expected}`;
  return new SlipwayError('SLIPWAY_USAGE', `${name} is not valid`, { place: name, hint });
}
