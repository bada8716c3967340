import { describe, expect, it } from 'vitest';

import { firstTime, isTime, type When } from '../../../src/domain/rehearsal/injection.ts';

const HOUR_MS = 3_600_000;
/** A Monday, 09:00 in Berlin. */
const STARTED = Date.parse('2026-11-23T08:00:00Z');
const BERLIN = { startedAt: STARTED, timeZone: 'Europe/Berlin' };

function isTimeAt(when: When, instant: string | number, watch?: { of: 'soak' | 'bake'; since: number }) {
  const now = typeof instant === 'number' ? instant : Date.parse(instant);
  return isTime(when, { ...BERLIN, now, watch });
}

describe('the time of an injection', () => {
  it('counts a duration from the beginning of the rehearsal, its end exclusive', () => {
    const when = {
      kind: 'since',
      of: 'rehearsal',
      from: 26 * HOUR_MS,
      until: 28 * HOUR_MS,
      once: false,
    } as const;
    expect(isTimeAt(when, STARTED + 26 * HOUR_MS - 1)).toBe(false);
    expect(isTimeAt(when, STARTED + 26 * HOUR_MS)).toBe(true);
    expect(isTimeAt(when, STARTED + 28 * HOUR_MS)).toBe(false);
    expect(firstTime(when, BERLIN)).toBe(STARTED + 26 * HOUR_MS);
  });

  it('counts a duration of the soak only from the start of a promotion’s soak', () => {
    const when = { kind: 'since', of: 'soak', from: 3 * HOUR_MS, until: null, once: true } as const;
    const since = STARTED + 50 * HOUR_MS;
    expect(isTimeAt(when, since + 3 * HOUR_MS, { of: 'soak', since })).toBe(true);
    expect(isTimeAt(when, since + 3 * HOUR_MS - 1, { of: 'soak', since })).toBe(false);
    expect(isTimeAt(when, since + 3 * HOUR_MS, { of: 'bake', since })).toBe(false);
    expect(isTimeAt(when, since + 3 * HOUR_MS)).toBe(false);
    expect(firstTime(when, BERLIN)).toBeUndefined();
  });

  it('recurs every night on the clocks of the time zone', () => {
    const when = { kind: 'clock', from: '22:00', until: '06:00', once: false } as const;
    expect(isTimeAt(when, '2026-11-23T20:59:00Z')).toBe(false);
    expect(isTimeAt(when, '2026-11-23T21:00:00Z')).toBe(true);
    expect(isTimeAt(when, '2026-11-26T04:59:00Z')).toBe(true);
    expect(isTimeAt(when, '2026-11-26T05:00:00Z')).toBe(false);
  });

  it.each([
    ['22:00', '2026-11-23T21:00:00Z'],
    ['08:00', '2026-11-24T07:00:00Z'],
    ['Mon 08:00', '2026-11-30T07:00:00Z'],
    ['2026-12-23 18:00', '2026-12-23T17:00:00Z'],
  ])('of a moment only (%s) is the first occurrence, and the later ones', (from, instant) => {
    const when = { kind: 'clock', from, until: null, once: true } as const;
    const first = Date.parse(instant);
    expect(firstTime(when, BERLIN)).toBe(first);
    expect(isTimeAt(when, first - 1)).toBe(false);
    expect(isTimeAt(when, first)).toBe(true);
  });

  it('of a past moment never comes', () => {
    const when = { kind: 'clock', from: '2026-11-01', until: null, once: true } as const;
    expect(firstTime(when, BERLIN)).toBeUndefined();
    expect(isTimeAt(when, STARTED + HOUR_MS)).toBe(false);
  });
});
