import { expect, it } from 'vitest';

import { heartbeatEveryMs, waitingCost } from '../../../src/domain/cost/waitingCost.ts';

it('an hour of waiting costs a release two actions, and one poller serves all', () => {
  const { parkedHour, pollerHour } = waitingCost(300_000);
  expect(parkedHour).toBe(2);
  // A heartbeat every 8 s, and an attempt every 5 minutes.
  expect(pollerHour).toBe(450 + 12);
});

it('a day of soak costs two actions for each round of checks', () => {
  expect(waitingCost(300_000).soakedDay).toBe(576);
  expect(waitingCost(7 * 3_600_000).soakedDay).toBe(8);
});

it('a heartbeat reaches the server after 80 % of its deadline, and at least once a minute', () => {
  expect(heartbeatEveryMs(10_000)).toBe(8_000);
  expect(heartbeatEveryMs(3_600_000)).toBe(60_000);
});
