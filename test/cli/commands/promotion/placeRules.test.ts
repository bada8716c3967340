import { expect, it } from 'vitest';

import { placeRules } from '../../../../src/cli/commands/worker/worker.ts';
import { PLACE_RULES } from '../../../../src/domain/promotion/places.ts';

it('the worker’s environment sets how many promotions run at the same time, and the pause between their starts', () => {
  expect(placeRules({})).toEqual(PLACE_RULES);
  const set = { SLIPWAY_PROMOTIONS_AT_ONCE: '12', SLIPWAY_PROMOTIONS_APART: '1m' };
  expect(placeRules(set)).toEqual({ atOnce: 12, apartMs: 60_000 });
});

it.each([{ SLIPWAY_PROMOTIONS_AT_ONCE: 'many' }, { SLIPWAY_PROMOTIONS_APART: 'soon' }])(
  'rejects %j',
  (environment) => {
    expect(() => placeRules(environment)).toThrow(expect.objectContaining({ code: 'SLIPWAY_USAGE' }));
  },
);
