import { expect, it } from 'vitest';

import { restartDelay } from '../../src/controlPlane/fleet.ts';

it('an agent is started again at once, then ever later, up to half a minute', () => {
  const delays = [-1, 0, 1, 2, 3, 6, 7, 8, 1_000].map(restartDelay);
  expect(delays).toEqual([0, 0, 500, 1_000, 2_000, 16_000, 30_000, 30_000, 30_000]);
});
