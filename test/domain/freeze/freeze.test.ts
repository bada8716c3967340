import { describe, expect, it } from 'vitest';

import {
  freezeProblem,
  freezeSpans,
  type FreezeWindow,
  frozenAt,
  nextFreeze,
} from '../../../src/domain/freeze/freeze.ts';

const BERLIN = { timeZone: 'Europe/Berlin', then: 'wait' } as const;
const WEEKEND: FreezeWindow = { ...BERLIN, name: 'weekend', from: 'Fri 16:00', until: 'Mon 08:00' };
const NIGHT: FreezeWindow = { ...BERLIN, name: 'night', from: '22:00', until: '06:00' };
const DAYS = { from: '2026-12-23 18:00', until: '2027-01-02' };
const CHRISTMAS: FreezeWindow = { ...BERLIN, name: 'Christmas', ...DAYS, then: 'refuse' };

/** The freeze at an instant, in short form. */
function told(windows: readonly FreezeWindow[], at: string): string {
  const frozen = frozenAt(windows, Date.parse(at));
  return frozen === null ? 'free' : `${frozen.name} until ${new Date(frozen.until).toISOString()}`;
}

describe('a weekly freeze', () => {
  it('begins and ends by the clocks of its time zone', () => {
    expect(told([WEEKEND], '2026-11-20T14:59:59Z')).toBe('free');
    expect(told([WEEKEND], '2026-11-20T15:00:00Z')).toBe('weekend until 2026-11-23T07:00:00.000Z');
    expect(told([WEEKEND], '2026-11-23T06:59:59Z')).toBe('weekend until 2026-11-23T07:00:00.000Z');
    expect(told([WEEKEND], '2026-11-23T07:00:00Z')).toBe('free');
  });

  it('is an hour longer if clocks are set back in it, and an hour shorter if they are set forward', () => {
    const hoursAt = (at: number): number[] =>
      freezeSpans(WEEKEND, at, at + 1).map(({ from, until }) => (until - from) / 3_600_000);
    expect(hoursAt(Date.parse('2026-10-24T00:00Z'))).toEqual([65]);
    expect(hoursAt(Date.parse('2026-03-28T00:00Z'))).toEqual([63]);
  });

  it('of a whole week has no gap', () => {
    const always = { ...WEEKEND, until: 'Fri 16:00' };
    const start = Date.parse('2026-11-16T00:30Z');
    const hours = Array.from({ length: 24 * 8 }, (_, hour) => start + hour * 3_600_000);
    expect(hours.filter((at) => freezeSpans(always, at, at + 1).length === 0)).toEqual([]);
  });
});

describe('a daily freeze', () => {
  it('can span midnight', () => {
    expect(told([NIGHT], '2026-11-18T20:59:00Z')).toBe('free');
    expect(told([NIGHT], '2026-11-18T23:30:00Z')).toBe('night until 2026-11-19T05:00:00.000Z');
  });

  it('begins when clocks skip its beginning, and ends later by the gap if they skip its end', () => {
    const [from, to] = [Date.parse('2026-03-29T00:00Z'), Date.parse('2026-03-29T02:00Z')];
    const hours = [
      ['02:30', '03:15'],
      ['01:30', '02:15'],
    ].map(([begins = '', until = '']) => freezeSpans({ ...NIGHT, from: begins, until }, from, to));
    expect(hours).toEqual([
      [{ from: Date.parse('2026-03-29T01:00Z'), until: Date.parse('2026-03-29T01:15Z') }],
      [{ from: Date.parse('2026-03-29T00:30Z'), until: Date.parse('2026-03-29T01:15Z') }],
    ]);
  });

  it('begins at the first and ends at the second of a repeated time', () => {
    const [from, to] = [Date.parse('2026-10-25T00:00Z'), Date.parse('2026-10-25T02:00Z')];
    const spans = freezeSpans({ ...NIGHT, from: '02:15', until: '02:45' }, from, to);
    expect(spans).toEqual([
      { from: Date.parse('2026-10-25T00:15Z'), until: Date.parse('2026-10-25T01:45Z') },
    ]);
  });
});

describe('several freezes', () => {
  it('in sequence end with the last of them', () => {
    const early = { ...NIGHT, until: '16:00' };
    expect(told([WEEKEND, early], '2026-11-19T21:00:00Z')).toBe('night until 2026-11-23T15:00:00.000Z');
  });

  it('are represented by the one that lasts longest, and rather by one that refuses', () => {
    expect(told([NIGHT, WEEKEND], '2026-11-20T23:00:00Z')).toBe('weekend until 2026-11-23T07:00:00.000Z');
    expect(told([CHRISTMAS], '2026-12-23T17:00:00Z')).toBe('Christmas until 2027-01-01T23:00:00.000Z');
    expect(told([WEEKEND, CHRISTMAS], '2027-01-01T20:00:00Z')).toBe(
      'Christmas until 2027-01-04T07:00:00.000Z',
    );
  });

  it('without an end are reported with an end in the far future', () => {
    const day = { ...NIGHT, from: '06:00', until: '22:00' };
    expect(frozenAt([NIGHT, day], Date.parse('2026-11-20T00:00Z'))?.until).toBeGreaterThan(
      Date.parse('2027-02-20T00:00Z'),
    );
  });
});

it.each([
  ['2026-02-30', '2026-03-01', 'from'],
  ['25:00', '06:00', 'from'],
  ['Fri', 'Mon 08:00', 'from'],
  ['Fry 16:00', 'Mon 08:00', 'from'],
  ['Fri 16:00', '08:00', 'until'],
  ['2026-12-24', '2026-12-24', 'until'],
  ['22:00', 'tomorrow', 'until'],
])('from %j until %j is invalid at "%s"', (from, until, field) => {
  expect(freezeProblem({ from, until })).toMatchObject({ field });
});

it.each([
  ['Friday 16:00', 'mon 08:00'],
  ['2026-12-23', '2026-12-23 12:00'],
  ['22:00', '06:00'],
])('from %j until %j is valid', (from, until) => {
  expect(freezeProblem({ from, until })).toBeUndefined();
});

it('the next freeze is the first to begin, within a day', () => {
  const next = (at: string): string => new Date(nextFreeze([WEEKEND, NIGHT], Date.parse(at))).toISOString();
  expect(next('2026-11-20T12:00:00Z')).toBe('2026-11-20T15:00:00.000Z');
  expect(next('2026-11-19T12:00:00Z')).toBe('2026-11-19T21:00:00.000Z');
  expect(new Date(nextFreeze([WEEKEND], Date.parse('2026-11-17T12:00:00Z'))).toISOString()).toBe(
    '2026-11-18T12:00:00.000Z',
  );
});
