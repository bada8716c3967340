import { expect, it } from 'vitest';

import { nextSteps } from '../../../../src/cli/commands/worker/rollout.ts';
import type { Routing } from '../../../../src/domain/versions/routing.ts';

const VERSIONS = ['new', 'old'].map((buildId, index) => {
  return { buildId, status: 'current', createdAt: 0, lastActiveAt: 2 - index } as const;
});
const ROUTING: Routing = { current: 'new', wasEverCurrent: true, ramping: undefined, versions: VERSIONS };

it('the next command of a rollout names the installation that can run it, if it is not this one', () => {
  expect(nextSteps(ROUTING, 'new')).toEqual([
    'Go back to old, from its installation: slipway worker rollout --back',
  ]);
  const ramping = { ...ROUTING, current: 'old', ramping: { buildId: 'new', percentage: 10 } };
  expect(nextSteps(ramping, 'new')[0]).toBe('Finish the ramp: slipway worker rollout new --current');
  expect(nextSteps(ramping, 'old')[0]).toMatch(/^Finish the ramp, from its installation: /u);
});
