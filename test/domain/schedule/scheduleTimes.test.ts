import { expect, it } from 'vitest';

import { cronProblem } from '../../../src/domain/schedule/scheduleTimes.ts';

it.each(['0 10 * * 1-5', '*/15 8-18 * * MON-FRI', '0 0 29 2 *', '5,10,15 0 1 jan *', '30 2/4 * * 7'])(
  '%j is right',
  (cron) => {
    expect(cronProblem(cron)).toBeUndefined();
  },
);

it.each([
  ['0 10 * *', 'found 4'],
  ['0 0 10 * * *', 'found 6'],
  ['60 * * * *', '"60" is no minute'],
  ['0 24 * * *', '"24" is no hour'],
  ['0 0 0 * *', '"0" is no day of month'],
  ['0 0 * 13 *', '"13" is no month'],
  ['0 0 * * 8', '"8" is no day of week'],
  ['0 0 * * FRY', '"FRY" is no day of week'],
  ['0 0 5-1 * *', '"5-1" is no day of month'],
  ['*/0 * * * *', '"*/0" is no minute'],
  ['a * * * *', '"a" is no minute'],
  ['1-2-3 * * * *', '"1-2-3" is no minute'],
  ['1, * * * *', '"1," is no minute'],
  ['0 0 31 2 *', 'no such day'],
  ['0 0 31 4,6 *', 'no such day'],
  ['0 0 31 2 MON', 'no such day'],
])('%j is wrong: %s', (cron, problem) => {
  expect(cronProblem(cron)).toContain(problem);
});
