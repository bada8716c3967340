import { readFile } from 'node:fs/promises';

import { expect, it } from 'vitest';

import { instantOf, isTimeZone } from '../../../src/domain/freeze/zonedTime.ts';

/** Zone, local time, and its first and second instant by Python's zoneinfo (tzdata). */
type Row = readonly [zone: string, local: string, first: number, second: number];

const rows = JSON.parse(
  await readFile(new URL('fixtures/zonedTimes.json', import.meta.url), 'utf8'),
) as readonly Row[];

const local = (text: string): number => Date.parse(`${text.replace(' ', 'T').slice(0, 16)}Z`);

it('a local time is the same instant as in another implementation, around every change of clocks in ten zones', () => {
  expect(rows.length).toBeGreaterThan(100);
  const wrong = rows.filter(
    ([zone, text, first, second]) =>
      instantOf(local(text), zone, 'first') !== first || instantOf(local(text), zone, 'second') !== second,
  );
  expect(wrong).toEqual([]);
});

it.each([
  ['Europe/Berlin', true],
  ['Europe/Bonn', false],
  ['+01:00', false],
])('time zone %j exists: %s', (name, exists) => {
  expect(isTimeZone(name)).toBe(exists);
});
