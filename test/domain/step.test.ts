import { describe, expect, it } from 'vitest';

import { grantedPauseMs, overrideStep, type StepPolicy } from '../../src/domain/step.ts';

const POLICY: StepPolicy = {
  startToCloseMs: 10,
  scheduleToCloseMs: 100,
  heartbeatMs: 5,
  retry: { initialIntervalMs: 20, backoffCoefficient: 2, maximumIntervalMs: 50, maximumAttempts: 3 },
};

describe('a step’s override', () => {
  it('changes nothing if it is absent', () => {
    expect(overrideStep(POLICY, undefined)).toBe(POLICY);
    expect(overrideStep(POLICY, {})).toEqual(POLICY);
  });

  it('changes only what it names', () => {
    expect(overrideStep(POLICY, { scheduleToCloseMs: 7, retry: { maximumAttempts: 9 } })).toEqual({
      ...POLICY,
      scheduleToCloseMs: 7,
      retry: { ...POLICY.retry, maximumAttempts: 9 },
    });
  });

  it.each([
    [{ initialIntervalMs: 80 }, { initialIntervalMs: 80, maximumIntervalMs: 80 }],
    [{ maximumIntervalMs: 8 }, { initialIntervalMs: 8, maximumIntervalMs: 8 }],
    [
      { initialIntervalMs: 80, maximumIntervalMs: 60 },
      { initialIntervalMs: 60, maximumIntervalMs: 60 },
    ],
    [{ initialIntervalMs: 30 }, { initialIntervalMs: 30, maximumIntervalMs: 50 }],
  ])('of %j never makes the longest interval shorter than the first', (retry, expected) => {
    expect(overrideStep(POLICY, { retry }).retry).toMatchObject(expected);
  });
});

describe('a pause that a service requests', () => {
  const HOUR = 3_600_000;
  const DEADLINE = 300_000;

  it.each([
    ['is as long as it asked', 7_000, DEADLINE, 7_000],
    ['leaves time for one more attempt', HOUR, DEADLINE, 270_000],
    ['leaves that time later, too', HOUR, 40_000, 10_000],
    ['is as long as it asked once that attempt was made', HOUR, 30_000, HOUR],
  ])('%s', (_, askedMs, leftMs, granted) => {
    expect(grantedPauseMs(askedMs, leftMs, DEADLINE)).toBe(granted);
  });

  it('leaves half of a deadline that is shorter than an attempt', () => {
    expect(grantedPauseMs(HOUR, 2_000, 2_000)).toBe(1_000);
  });
});
