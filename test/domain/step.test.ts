import { describe, expect, it } from 'vitest';

import { overrideStep, type StepPolicy } from '../../src/domain/step.ts';

const POLICY: StepPolicy = {
  startToCloseMs: 10,
  scheduleToCloseMs: 100,
  heartbeatMs: 5,
  retry: { initialIntervalMs: 20, backoffCoefficient: 2, maximumIntervalMs: 50, maximumAttempts: 3 },
};

describe('a step’s override', () => {
  it('changes nothing where there is none', () => {
    expect(overrideStep(POLICY, undefined)).toBe(POLICY);
    expect(overrideStep(POLICY, {})).toEqual(POLICY);
  });

  it('changes what it names and nothing else', () => {
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
  ])('of %j never leaves a longest interval that is shorter than the first', (retry, expected) => {
    expect(overrideStep(POLICY, { retry }).retry).toMatchObject(expected);
  });
});
