import { expect, it } from 'vitest';

import { holdLines } from '../../../../src/cli/commands/target/blocks.ts';

const ADA = { who: 'ada', from: 'cli', reason: 'an incident' };
const HOLD = { since: '2026-11-21T03:00:00.000Z', by: ADA };

it('hold says who holds the target since when and why, and that a second reason changes nothing', () => {
  const [held = ''] = holdLines('production', HOLD, ADA);
  expect(held).toMatch(/^on hold since 2026-11-21.*, set by ada: an incident$/);
  expect(holdLines('production', HOLD, ADA)).toEqual([held]);
  expect(holdLines('production', HOLD, { ...ADA, who: 'bo' })).toEqual([
    held,
    'it was on hold before, so that reason stays; to replace it: slipway unhold production, then hold it again',
  ]);
});
