import { setImmediate as nextTurn } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { FirstReads } from '../../../src/dashboard/live/firstReads.ts';

it('other reads wait until every target has answered', async () => {
  const reads = new FirstReads();
  await reads.over();
  const [one, other] = [reads.begin(), reads.begin()];
  let isOver = false;
  const waiting = reads.over().then(() => (isOver = true));
  one();
  one();
  await Promise.resolve();
  expect(isOver).toBe(false);
  other();
  await waiting;
});

it('a target that does not answer delays no other', async () => {
  const reads = new FirstReads();
  reads.begin();
  // A second at most; without a limit, this would never end.
  await reads.over();
});

it('a few reads run at once; those beyond wait, until the page is painted or they are stopped', async () => {
  const reads = new FirstReads();
  const stopping = new AbortController();
  const ran: number[] = [];
  const turns = Array.from({ length: 5 }, (_, read) => {
    reads.begin();
    return reads.turn(stopping.signal).then(() => ran.push(read));
  });
  await nextTurn();
  expect(ran).toEqual([0, 1, 2, 3]);
  stopping.abort();
  await Promise.all(turns);
});
