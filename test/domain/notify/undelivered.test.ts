import { expect, it } from 'vitest';

import { noteUndelivered, describeUndelivered } from '../../../src/domain/notify/undelivered.ts';
import { NOW, seasoned } from '../target/targets.ts';

const WARNING = { at: NOW, receiver: 'ops', event: 'released', name: 'release-3', reason: 'it is away' };

it('of what could not be told the newest is kept, however much it is', () => {
  let state = seasoned();
  for (let number = 1; number <= 100; number++) {
    state = noteUndelivered(state, { ...WARNING, name: `release-${number}`, reason: 'x'.repeat(1_000) });
  }
  const kept = state.undelivered ?? [];
  expect(kept.at(-1)?.name).toBe('release-100');
  expect(JSON.stringify(kept).length).toBeLessThan(31_000);
});

it('a warning says who could not be told of what, and why', () => {
  expect(describeUndelivered(WARNING)).toBe(
    `"ops" could not be told of released of release-3, given up at ${NOW}: it is away`,
  );
  expect(describeUndelivered({ ...WARNING, event: 'hold_set', name: null })).toContain(
    'of hold_set, given up',
  );
});
