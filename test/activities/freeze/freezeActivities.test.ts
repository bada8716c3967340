import { describe, expect, it } from 'vitest';

import { freezeActivities } from '../../../src/activities/freeze/freezeActivities.ts';

const WEEKEND = {
  name: 'weekend',
  timeZone: 'Europe/Berlin',
  from: 'Fri 16:00',
  until: 'Mon 08:00',
  then: 'wait',
} as const;

describe('looking at freezes', () => {
  it('returns the one in force at the given instant, not at the current time', async () => {
    const at = Date.parse('2026-11-21T12:00Z');
    expect(await freezeActivities().lookAtFreezes({ freezes: [WEEKEND], at })).toEqual({
      frozen: {
        name: 'weekend',
        timeZone: 'Europe/Berlin',
        then: 'wait',
        until: Date.parse('2026-11-23T07:00Z'),
      },
      nextAt: Date.parse('2026-11-20T15:00Z'),
    });
  });

  it('fails if this worker does not know the time zone', () => {
    const freezes = [{ ...WEEKEND, timeZone: 'Europe/Bonn' }];
    expect(() => freezeActivities().lookAtFreezes({ freezes, at: 0 })).toThrow('no time zone "Europe/Bonn"');
  });
});
