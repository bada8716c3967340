import { readFile } from 'node:fs/promises';

import { describe, expect, it } from 'vitest';

import {
  instantOf,
  isTimeZone,
  type LocalTime,
  localTimeAt,
  plusDays,
} from '../../../src/domain/freeze/zonedTime.ts';

/** Zone, local time, and the instants that Python's zoneinfo (tzdata) gives it, first and second time. */
type Row = readonly [zone: string, local: string, first: number, second: number];

const rows = JSON.parse(
  await readFile(new URL('fixtures/zonedTimes.json', import.meta.url), 'utf8'),
) as readonly Row[];

function local(text: string): LocalTime {
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0] = text.split(/[- :]/).map(Number);
  return { year, month, day, minute: hours * 60 + minutes };
}

describe('local time', () => {
  it('is the instant that another implementation says, around every change of clocks in ten zones', () => {
    expect(rows.length).toBeGreaterThan(500);
    const wrong = rows.filter(
      ([zone, text, first, second]) =>
        instantOf(local(text), zone, 'first') !== first || instantOf(local(text), zone, 'second') !== second,
    );
    expect(wrong).toEqual([]);
  });

  it('is shown again at its instant, but for times that are skipped', () => {
    const shown = rows.filter(([zone, text, first]) => {
      const { year, month, day, minute } = localTimeAt(first, zone);
      const then = local(text);
      return year === then.year && month === then.month && day === then.day && minute === then.minute;
    });
    expect(rows.length - shown.length).toBeLessThan(rows.length / 5);
  });

  it('a day later has the same time, also across the end of a year', () => {
    expect(plusDays({ year: 2026, month: 12, day: 31, minute: 90 }, 1)).toEqual({
      year: 2027,
      month: 1,
      day: 1,
      minute: 90,
    });
  });
});

it.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['Europe/Bonn', false],
  ['+01:00', false],
  ['', false],
])('time zone %j exists: %s', (name, exists) => {
  expect(isTimeZone(name)).toBe(exists);
});
